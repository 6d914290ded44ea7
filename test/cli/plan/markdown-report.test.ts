// Reads the report as GitHub does, with a parser of Markdown: what files say is text, and the rest is as it should be.
// `UPDATE_GOLDEN=1 npx vitest run test/cli/plan/markdown-report.test.ts` writes markdown-report.md anew.

import { readFileSync, writeFileSync } from 'node:fs';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { describe, expect, it, test } from 'vitest';
import { code, MARKDOWN_LENGTH_MAX, markdownReport, prose } from '../../../src/cli/plan/markdown-report.ts';
import { SECRET_VALUE } from '../../../src/hiera/secrets.ts';
import { EVERYTHING, HOSTILE, NO_EFFECT, planOf, serverChange } from './plans.ts';

const GOLDEN = new URL('markdown-report.md', import.meta.url);
const MARKER = '<!-- treeline-plan -->';
/** The elements of the report. None has an attribute. */
const INTENDED = /^<\/?(?:h3|h4|p|ul|li|code|details|summary)>$/;
/** Outside code there is nothing that GitHub or GitLab would make a link, a mention or a reference of. */
const PLAIN = /^(?:[A-Za-z0-9 \n,.:;?()→…'-]|&quot;)*$/;
const REFERENCE = /www\.|https?:|[A-Za-z]-\d|\.[a-z]{2}|\b[0-9a-f]{7,}\b/;

function htmlOf(markdown: string): string {
  return micromark(markdown, { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] });
}

/** The tags and comments of a text, in their order. */
function tagsOf(html: string): readonly string[] {
  return html.match(/<!--.*?-->|<[^>]*>/gs) ?? [];
}

/** The tags that are closed where another one is the innermost, and those that are left open. */
function unbalanced(tags: readonly string[]): readonly string[] {
  const open: string[] = [];
  const wrong = tags.filter((tag) => {
    if (tag.startsWith('</')) return open.pop() !== tag.replace('/', '');
    open.push(tag);
    return false;
  });
  return [...wrong, ...open];
}

function expectOnlyIntended(markdown: string): void {
  const html = htmlOf(markdown);
  const [marker, ...tags] = tagsOf(html);
  expect(marker).toBe(markdown.split('\n')[0]);
  expect(tags.filter((tag) => !INTENDED.test(tag))).toEqual([]);
  expect(unbalanced(tags)).toEqual([]);
  const outside = html.split(/<code>[^<]*<\/code>|<!--.*?-->|<[^>]*>/s);
  expect(outside.filter((text) => !PLAIN.test(text) || REFERENCE.test(text))).toEqual([]);
}

/** The texts in code, as a reader sees them. */
function codesIn(markdown: string): readonly string[] {
  return [...htmlOf(markdown).matchAll(/<code>([^<]*)<\/code>/g)].map(([, text = '']) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&'),
  );
}

describe('a code span', () => {
  test.each(HOSTILE.filter((text) => /^[^\p{C}\u2028]+$/u.test(text)))('shows %j unchanged', (text) => {
    const markdown = `- text ${code(text)} text\n- text ${code(`${text} ${text}`)}`;
    expect(codesIn(markdown)).toEqual([text, `${text} ${text}`]);
  });

  it.each([
    ['a\nb', '`a\\u000ab`'],
    ['a\u202eb', '`a\\u202eb`'],
    ['\u{e0041}', '`\\udb40\\udc41`'],
    ['\ud83d', '`\\ud83d`'],
    ['', '(empty)'],
    ['a'.repeat(200), `\`${'a'.repeat(120)}…\``],
    ['\u0000'.repeat(200), `\`${'\\u0000'.repeat(20)}…\``],
    [`${'a'.repeat(119)}😀😀`, `\`${'a'.repeat(119)}…\``],
    [`${'`'.repeat(10)}a`, `${'`'.repeat(11)} ${'`'.repeat(10)}a ${'`'.repeat(11)}`],
    // GitHub and GitLab know no delimiter of more than 80: what stands behind one would be Markdown.
    [`${'`'.repeat(80)}[a](//b)`, `\`${'\\u0060'.repeat(20)}…\``],
    [`${'`'.repeat(11)}[a](//b)`, `\`${'\\u0060'.repeat(11)}[a](//b)\``],
  ])('of %j is %j', (text, expected) => {
    expect(code(text)).toBe(expected);
  });
});

it.each([
  ['there is no stack template "shpo"', 'there is no stack template `"shpo"`'],
  ['the count of "web", now 2, was 4.', 'the count of `"web"`, now 2, was 4.'],
  ['did you mean "a b"? see #12 and @you', 'did you mean `"a b"`? see `#12` and `@you`'],
  ['fixes octo/cat#1 https://evil.example now', 'fixes `octo/cat#1` `https://evil.example` now'],
  ['name it (treeline validate DIR, repository.directory)', 'name it (treeline validate DIR, `repository.directory`)'],
  ['of it (a.b) and f(x), "c d").', 'of it (`a.b`) and `f(x`), `"c d"`).'],
  ['](https://evil.example) (@you', '`](https://evil.example`) (`@you`'],
  ["the file's first-parent line", "the file's first-parent line"],
  ['in deadbeef: 1234567', 'in `deadbeef`: `1234567`'],
])('prose writes the sentence %j as %j', (sentence, expected) => {
  expect(prose(sentence)).toBe(expected);
});

describe('a difference of values', () => {
  const names = Array.from({ length: 30 }, (_, index) => `shop-web-${index}`);

  it.each([
    ['of short values shows both', 'small', 'large', '`"small"` → `"large"`'],
    ['of a new value says so', null, 2, 'none → `2`'],
    ['of secrets has no value', SECRET_VALUE, SECRET_VALUE, 'changed (secret)'],
    ['of a new secret has no value', null, SECRET_VALUE, 'added (secret)'],
    ['of a removed secret has no value', SECRET_VALUE, null, 'removed (secret)'],
    ['of lists shows the items', names, [...names.slice(1), 'new'], 'adds `"new"`, removes `"shop-web-0"`'],
    ['of lists in another order says so', names, names.toReversed(), 'another order of 30 items'],
    [
      'of long texts shows where they differ',
      `${'a'.repeat(150)}b`,
      `${'a'.repeat(150)}c`,
      '`…aaaaaaaaaaaab"` → `…aaaaaaaaaaaac"`',
    ],
  ])('%s', (_, from, to, expected) => {
    const change = serverChange({ action: 'update', resource: 'web', properties: { p: { from, to } } });
    expect(markdownReport({ ...NO_EFFECT, changes: [change] })).toContain(`  - \`p\`: ${expected}\n`);
  });
});

describe('the Markdown report', () => {
  it('has every section of a plan, the most harmful first', () => {
    const report = markdownReport(EVERYTHING, { prefix: 'infra/' });
    if (process.env.UPDATE_GOLDEN !== undefined) writeFileSync(GOLDEN, `${report}\n`);
    expect(`${report}\n`).toBe(readFileSync(GOLDEN, 'utf8'));
    expectOnlyIntended(report);
  });

  it('says that a plan has no effect', () => {
    const report = markdownReport(NO_EFFECT);
    expect(report).toContain('### Treeline plan: No effect\n');
    expect(report).not.toContain('####');
  });

  it('contains no compared commits if the plan uses recorded servers', () => {
    const report = markdownReport(NO_EFFECT, { isRecorded: true });
    expect(report.split('\n').at(-1)).toBe('All servers and values: the same command with `--format json`');
    expectOnlyIntended(report);
  });

  it('shows no value of a secret', () => {
    const source = { type: 'role', name: 'database', file: null, line: null };
    const change = {
      key: 'db_password',
      from: 'hunter2',
      to: 'hunter3',
      isSecret: true,
      nodes: 1,
      examples: [],
      source,
    };
    expect(markdownReport({ ...NO_EFFECT, configuration: [change] })).not.toContain('hunter');
  });

  it('shows twelve items of a section, and folds the rest', () => {
    const report = (length: number): string =>
      markdownReport({
        ...NO_EFFECT,
        changes: Array.from({ length }, (_, index) =>
          serverChange({ action: 'delete', resource: `web-${index}`, reason: `reason ${index}` }),
        ),
      });
    expect(report(12)).not.toContain('<details>');
    const [unfolded = '', folded = ''] = report(20).split('<details>');
    expect(unfolded.match(/^- /gm)).toHaveLength(12);
    expect(folded).toContain('<summary>8 more deletes</summary>');
    expect(folded.match(/^- /gm)).toHaveLength(8);
  });

  it('shows servers with the same change in one item', () => {
    const changes = Array.from({ length: 5_000 }, (_, index) =>
      serverChange({
        action: 'update',
        resource: `web-${index}`,
        properties: { shape: { from: 'small', to: 'large' } },
      }),
    );
    const report = markdownReport({ ...NO_EFFECT, changes });
    expect(report).toContain('#### Updates 5,000 servers');
    expect(report).toContain('and 4,992 more of `shop`');
    expect(report.length).toBeLessThan(1_000);
  });

  it('counts omitted items, and has the command to see them', () => {
    const deletes = Array.from({ length: 5_000 }, (_, index) =>
      serverChange({ action: 'delete', resource: `web-${index}`, reason: `reason ${index}` }),
    );
    const report = markdownReport({ ...EVERYTHING, changes: [...EVERYTHING.changes, ...deletes] });
    expect(report.length).toBeLessThanOrEqual(MARKDOWN_LENGTH_MAX);
    expect(report.length).toBeGreaterThan(MARKDOWN_LENGTH_MAX * 0.95);
    const section = report.split('#### ').find((part) => part.startsWith('Deletes 5,002 servers')) ?? '';
    const omitted = Number(/^([\d,]+) more deletes not shown\.$/m.exec(section)?.[1]?.replace(',', ''));
    expect(omitted + (section.match(/`(?:blog-db|(?:blog-)?web-\d+)`/g)?.length ?? 0)).toBe(5_002);
    expect(report.split('\n').at(-1)).toMatch(
      /^[\d,]+ items are not shown, since a comment has a limit. All servers and values: `treeline plan --base 1{12} --head 2{12} --format json`$/,
    );
    expectOnlyIntended(report);
  });

  it.each([
    ['', MARKER],
    ['infra', '<!-- treeline-plan infra -->'],
    ['a/b-c_d.e', '<!-- treeline-plan a%2Fb-c_d.e -->'],
    ['--><b>', '<!-- treeline-plan --%3E%3Cb%3E -->'],
    ['x\ny', '<!-- treeline-plan x%0Ay -->'],
  ])('of the id %j begins with %s', (id, marker) => {
    const report = markdownReport(NO_EFFECT, { id });
    expect(report.split('\n')[0]).toBe(marker);
    expectOnlyIntended(report);
  });

  test.each([...HOSTILE, HOSTILE.join(''), HOSTILE.join(' '), ...HOSTILE.map((text) => text.repeat(400))])(
    'whatever files say, it has no other element, closes each, and keeps its limit: %j',
    (text) => {
      const report = markdownReport(planOf(text), { id: text, prefix: `${text}/` });
      expect(report.length).toBeLessThanOrEqual(MARKDOWN_LENGTH_MAX);
      expectOnlyIntended(report);
    },
  );
});
