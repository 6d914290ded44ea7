// The formats of `treeline validate` for programs, with text that tries to leave its place in them.
import { describe, expect, it } from 'vitest';
import { NO_PAINT } from '../../../src/cli/format-problem.ts';
import { githubReport, gitlabReport, type Report, sarifReport, textReport } from '../../../src/cli/validate/report.ts';
import type { Problem } from '../../../src/model/problem.ts';

const PLAIN: Problem = {
  code: 'unknown_template',
  severity: 'error',
  file: 'stacks/instances/shop.yaml',
  line: 2,
  column: 16,
  pointer: '/stackTemplate',
  message: 'there is no stack template "shoop"',
  hint: 'did you mean "shop"?',
  instances: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
};

const WARNING: Problem = {
  ...PLAIN,
  code: 'boolean_spelling',
  severity: 'warning',
  hint: null,
  message: 'yes',
  instances: [],
};

/** Every character that means something in one of the formats. */
const HOSTILE: Problem = {
  ...PLAIN,
  code: 'bad_name',
  file: 'types/role/a,b:c%0A<&"\'> ü#?::error::x\n::set-env name=A::b.yaml',
  message: 'the name "%0A\r\n::stop-commands::x]]> <script>&amp;\u0000\u001b[2J\ufffe" is wrong',
  hint: '::add-mask::%25',
  instances: ['</failure>'],
};

const FOLDER: Problem = { ...PLAIN, code: 'no_instance', severity: 'warning', file: 'stacks/instances', hint: null };
const LAYOUT: Problem = { ...PLAIN, code: 'too_many_files', file: '.' };

function reportOf(problems: readonly Problem[], prefix = ''): Report {
  return { files: 3, problems, prefix, linesOf: () => ['description: x', 'stackTemplate: shoop'] };
}

describe('the text report', () => {
  it('shows the line with a caret, the hint and the instances', () => {
    expect(textReport(reportOf([PLAIN]), NO_PAINT).split('\n')).toEqual([
      'stacks/instances/shop.yaml:2:16: error: there is no stack template "shoop" [unknown_template]',
      '    2 | stackTemplate: shoop',
      '      |                ^',
      '    hint: did you mean "shop"?',
      '    stops: a, b, c, d, e, f, g',
      '3 files, 1 error, 0 warnings',
    ]);
  });

  it('colours the place, the severity and the caret if colours are on', () => {
    const text = textReport(reportOf([PLAIN]), (style, part) => (style === 'plain' ? part : `<${style} ${part}>`));
    expect(text.split('\n').slice(0, 3)).toEqual([
      '<place stacks/instances/shop.yaml:2:16>: <error error>: there is no stack template "shoop" [unknown_template]',
      '<margin     2 |> stackTemplate: shoop',
      '<margin       |>                <error ^>',
    ]);
  });

  it('escapes line ends and escape sequences of a problem', () => {
    const text = textReport(reportOf([{ ...HOSTILE, line: 1, column: 1 }]), NO_PAINT);
    expect(text.split('\n')).toHaveLength(6);
    expect(text).not.toMatch(/[^\P{Cc}\n]/u);
  });
});

describe('the github report', () => {
  it('prints a command for each problem, and the summary', () => {
    expect(githubReport(reportOf([PLAIN, WARNING], 'infra/')).split('\n')).toEqual([
      '::error file=infra/stacks/instances/shop.yaml,line=2,col=16,title=unknown_template::there is no stack template "shoop"%0Ahint: did you mean "shop"?%0Astops: a, b, c, d, e and 2 more',
      '::warning file=infra/stacks/instances/shop.yaml,line=2,col=16,title=boolean_spelling::yes',
      '3 files, 1 error, 1 warning',
    ]);
  });

  it('escapes text that could begin a command or a property', () => {
    const [command = '', ...rest] = githubReport(reportOf([HOSTILE])).split('\n');
    expect(rest).toHaveLength(1);
    const [, file = '', data = ''] = /^::error file=([^,:]*),line=2,col=16,title=bad_name::(.*)$/s.exec(command) ?? [];
    const decoded = (text: string) => text.replaceAll(/%(0A|0D|3A|2C|25)/g, (code) => decodeURIComponent(code));
    expect(decoded(file)).toBe(HOSTILE.file);
    expect(decoded(data)).toBe(`${HOSTILE.message}\nhint: ${HOSTILE.hint}\nstops: </failure>`);
  });

  it('has no line for a folder', () => {
    expect(githubReport(reportOf([FOLDER]))).toMatch(/^::warning file=stacks\/instances,title=no_instance::/);
    expect(githubReport(reportOf([LAYOUT]))).toMatch(/^::error file=tree\.yaml,title=too_many_files::/);
  });
});

describe('the gitlab report', () => {
  function itemsOf(report: Report): readonly { readonly fingerprint: string }[] {
    return JSON.parse(gitlabReport(report));
  }

  it('prints the fields of GitLab', () => {
    expect(itemsOf(reportOf([PLAIN, FOLDER], 'infra/'))).toEqual([
      {
        description: 'there is no stack template "shoop"\nhint: did you mean "shop"?\nstops: a, b, c, d, e and 2 more',
        check_name: 'unknown_template',
        fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
        severity: 'major',
        location: { path: 'infra/stacks/instances/shop.yaml', lines: { begin: 2 } },
      },
      expect.objectContaining({ severity: 'minor', location: { path: 'infra/stacks/instances', lines: { begin: 2 } } }),
    ]);
    expect(gitlabReport(reportOf([]))).toBe('[]');
  });

  it('has unique fingerprints that do not change when lines move', () => {
    const [first, second] = itemsOf(reportOf([PLAIN, { ...PLAIN, line: 9 }]));
    const [moved] = itemsOf(reportOf([{ ...PLAIN, line: 7, column: 1, message: 'in other words' }]));
    expect(moved?.fingerprint).toBe(first?.fingerprint);
    expect(second?.fingerprint).not.toBe(first?.fingerprint);
    const [elsewhere] = itemsOf(reportOf([{ ...PLAIN, pointer: '/parameters' }]));
    expect(elsewhere?.fingerprint).not.toBe(first?.fingerprint);
  });
});

describe('the sarif report', () => {
  it('has one run, with a rule for each code', () => {
    const log = JSON.parse(sarifReport(reportOf([PLAIN, WARNING, { ...PLAIN, line: 3 }, FOLDER], 'infra/')));
    expect(log).toMatchObject({ version: '2.1.0', runs: [{ columnKind: 'utf16CodeUnits' }] });
    const [{ tool, results }] = log.runs;
    expect(tool.driver.rules.map(({ id }: { id: string }) => id)).toEqual([
      'boolean_spelling',
      'no_instance',
      'unknown_template',
    ]);
    expect(results.map(({ ruleIndex, level }: { ruleIndex: number; level: string }) => [ruleIndex, level])).toEqual([
      [2, 'error'],
      [0, 'warning'],
      [2, 'error'],
      [1, 'warning'],
    ]);
    expect(results[0].locations).toEqual([
      {
        physicalLocation: {
          artifactLocation: { uri: 'infra/stacks/instances/shop.yaml', uriBaseId: '%SRCROOT%' },
          region: { startLine: 2, startColumn: 16 },
        },
      },
    ]);
    expect(results[3].locations[0].physicalLocation).not.toHaveProperty('region');
    const prints = results.map(
      (result: { partialFingerprints: object }) => Object.values(result.partialFingerprints)[0],
    );
    expect(new Set(prints).size).toBe(4);
  });

  it('refers to files by valid URIs', () => {
    const log = JSON.parse(sarifReport(reportOf([HOSTILE])));
    const { uri } = log.runs[0].results[0].locations[0].physicalLocation.artifactLocation;
    expect(uri).toMatch(/^[\w%/.!~*'()-]+$/);
    expect(decodeURIComponent(new URL(uri, 'file:///stacks/').pathname)).toBe(`/stacks/${HOSTILE.file}`);
  });
});
