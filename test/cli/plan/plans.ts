// Plans for the tests of reports: one with everything that a plan may say, also with hostile texts.
import type { Plan, RetainedServer, ServerChange } from '../../../src/plan/plan.ts';

/** A plan without any effect. */
export const NO_EFFECT: Plan = {
  base: '1'.repeat(40),
  head: '2'.repeat(40),
  access: [],
  safety: [],
  changes: [],
  retained: [],
  nodes: [],
  configuration: [],
  invalid: [],
  problems: [],
  knownProblems: 0,
  held: null,
};

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

const RETAINED: Omit<RetainedServer, 'resource'> = {
  instance: 'old',
  group: 'database',
  reason: 'the stack instance "old" is removed',
  file: 'stacks/instances/old.yaml',
  line: null,
};
const SHAPE = { shape: { from: 'small', to: 'large' } };

/** A plan with everything that a plan may say. */
export const EVERYTHING: Plan = {
  ...NO_EFFECT,
  access: [
    {
      action: 'remove',
      serial: 'A1',
      description: 'deploy pipeline',
      role: { from: 'automation-endpoint', to: null },
      fields: [],
    },
    {
      action: 'change',
      serial: 'B2',
      description: 'Ada',
      role: { from: 'proxy', to: 'administrator' },
      fields: ['fingerprint', 'role'],
    },
    { action: 'add', serial: 'C3', description: '', role: { from: null, to: 'proxy' }, fields: [] },
  ],
  safety: [
    { object: 'stack-instance/shop', field: 'protected', from: true, to: null },
    { object: 'hierarchy', field: '/merge/ntp_servers', from: 'first', to: 'unique' },
  ],
  changes: [
    serverChange({ action: 'delete', resource: 'shop-web-3' }),
    serverChange({ action: 'delete', resource: 'shop-web-4' }),
    serverChange({ action: 'replace', resource: 'orders-db', group: 'database', reason: 'made by another provider' }),
    ...['shop-web-1', 'shop-web-2'].map((resource) =>
      serverChange({ action: 'update', resource, reason: 'its shape changes', properties: SHAPE }),
    ),
    serverChange({ action: 'create', resource: 'shop-cache', group: 'cache', reason: 'new in the template "shop"' }),
  ],
  retained: [{ ...RETAINED, resource: 'old-db' }],
  nodes: [{ action: 'remove', node: 'lab-db', file: 'types/clientcert/lab-db.yaml' }],
  configuration: [
    {
      key: 'ntp_servers',
      from: ['a.example'],
      to: ['b.example'],
      isSecret: false,
      nodes: 5_000,
      examples: ['node-1', 'node-2', 'node-3'],
      source: { type: 'common', name: 'global', file: 'types/common/global.yaml', line: 4 },
    },
    {
      key: 'db_password',
      from: 'hunter2',
      to: 'hunter3',
      isSecret: true,
      nodes: 1,
      examples: ['orders-db'],
      source: { type: 'role', name: 'database', file: null, line: null },
    },
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
