// Plans for the tests of reports: one with everything that a plan may say, also with hostile texts.
import type { Plan, ServerChange } from '../../../src/plan/plan.ts';
import { planned, SHOP } from '../../plan/planned.ts';

/** A plan without any effect. */
export const NO_EFFECT: Plan = { ...planned({}), base: '1'.repeat(40), head: '2'.repeat(40) };

/** Returns a change of a server of the instance `shop`. */
export function serverChange(change: Partial<ServerChange> & Pick<ServerChange, 'action' | 'resource'>): ServerChange {
  return {
    instance: 'shop',
    group: 'web',
    reason: 'the count of "web" is 2, it was 4',
    file: 'stacks/instances/shop.yaml',
    line: 7,
    properties: {},
    ...change,
  };
}

export const SHOP_FILE = 'stacks/instances/shop.yaml';
export const BLOG_FILE = 'stacks/instances/blog.yaml';
export const WIKI_FILE = 'stacks/instances/wiki.yaml';

const FILES = {
  ...SHOP,
  'clients/B2.yaml': 'role: proxy\ndescription: Lab\ntags: [lab]\n',
  'clients/C3.yaml': 'role: proxy\n',
  [WIKI_FILE]: 'stackTemplate: web\ndeletion: retain\nparameters: { count: "12" }\n',
  'types/clientcert/printer.yaml': 'ip: 192.0.2.7\n',
};

/** One of each kind of effect. */
const CHANGES = {
  'clients/B2.yaml': 'role: automation-endpoint\ndescription: Lab\ntags: [home]\n',
  'clients/C3.yaml': null,
  'clients/D4.yaml': 'role: administrator\ndescription: "Ops \\u001b[31m"\n',
  'types/common/global.yaml': 'ntp: [a, b]\nadmin_password: secret/other\n',
  'types/clientcert/printer.yaml': null,
  'types/clientcert/scanner.yaml': 'ip: 192.0.2.8\n',
  'types/shape/small.yaml': 'cpus: 4\n',
  [SHOP_FILE]: `${SHOP[SHOP_FILE]}  count: "5"\n  token: secret/mine\ndrift: heal\n`,
  [BLOG_FILE]: null,
  'stacks/instances/news.yaml': SHOP[BLOG_FILE],
  [WIKI_FILE]: 'stackTemplate: web\ndeletion: retain\nparameters: { count: "2" }\n',
};

/** The plan of these changes. */
export const PLANNED = planned(CHANGES, { files: FILES, budget: 1 });

/** A plan with everything that a plan may say. */
export const EVERYTHING: Plan = {
  ...PLANNED,
  changes: [
    ...PLANNED.changes,
    serverChange({ action: 'replace', resource: 'orders-db', group: 'database', reason: 'made by another provider' }),
  ],
  invalid: ['lab'],
  problems: [
    {
      code: 'unknown_template',
      severity: 'error',
      file: 'stacks/instances/lab.yaml',
      line: 2,
      column: 16,
      pointer: '/stackTemplate',
      message: 'there is no stack template "labb"',
      hint: 'did you mean "lab"?',
      instances: ['lab'],
    },
  ],
  held: {
    kind: 'budget',
    limit: 1,
    deletes: 3,
    instances: ['shop'],
    waiting: ['lab'],
    reason: 'the budget of 1 delete an hour is used up',
  },
  knownProblems: 2,
};

/** Texts that would be something else than text in Markdown, HTML, or a comment of GitHub or GitLab. */
export const HOSTILE: readonly string[] = [
  ...'` `` ```sh ~~~ | *b* _i_ ~~s~~ --- === <b> </details> <!-- --> <script>alert(1)</script>'.split(' '),
  ...'&lt;b&gt; &#64; [a](https://evil.example) ![a](https://evil.example/a.png) [^1]'.split(' '),
  ...'<https://evil.example> https://evil.example www.evil.example evil@evil.example @octocat'.split(' '),
  ...'@org/team #123 octo/cat#1 GH-123 !12 $12 ~label &3 %4 ABC-12 deadbeef'.split(' '),
  ...'deadbeefdeadbeefdeadbeefdeadbeefdeadbeef :smile: $x$ " |---| word'.split(' '),
  ...['` `', '\\', '\\`', '# h', '> q', '1. l', '- l', '<img src=x onerror=alert(1)>'],
  ...['[a]: https://evil.example', '- [ ] task', '\n', '\r\n', '\n\n# h\n', '\n/close\n', '\n```\n', '\t'],
  ...['\u0000', '\u001b[31m', '\u202e', '\u2066', '\u200b', '\u2028', '\ufeff', '\u{e0041}', '\ud83d', '', ' '],
  ...['   ', '"a b"', 'a\n|-|\n', 'a b c'],
];

/** The fields that say what a change is. */
const KINDS = ['action', 'severity', 'kind', 'base', 'head'];

/** Returns the plan with everything, in which every text is another one. */
export function planOf(text: string): Plan {
  const plan = JSON.stringify(EVERYTHING, (key, value: unknown) =>
    typeof value === 'string' && !KINDS.includes(key) ? text : value,
  );
  return JSON.parse(plan) as Plan;
}
