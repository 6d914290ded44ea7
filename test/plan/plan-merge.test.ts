// The effects of a merge, each by itself.
import { describe, expect, it } from 'vitest';
import type { Plan } from '../../src/plan/plan.ts';
import type { TextChanges } from '../support/text-repository.ts';
import { actionsIn, keysIn, type PlanOptions, planned, plannedOn, SHOP } from './planned.ts';

const SHOP_FILE = 'stacks/instances/shop.yaml';
const BLOG_FILE = 'stacks/instances/blog.yaml';
const TEMPLATE = 'stacks/templates/web.yaml';

function replaced(path: keyof typeof SHOP, from: string, to: string): Readonly<Record<string, string>> {
  const text = SHOP[path].replace(from, to);
  expect(text).not.toBe(SHOP[path]);
  return { [path]: text };
}

it('planMerge shows everything as new without an active state', () => {
  const plan = plannedOn(undefined, SHOP);
  expect(plan.changes.map(({ action }) => action)).toEqual(Array.from({ length: 6 }, () => 'create'));
  expect(plan.access).toEqual([
    { action: 'add', serial: 'A1', description: '', role: { from: null, to: 'administrator' }, fields: [] },
  ]);
  expect(plan.held).toBeNull();
});

const ONE = 'resources:\n  server:\n    type: Platform::Server\n    properties: { name: solo }\n';
const MOVING = { 'stacks/instances/a.yaml': 'stackTemplate: one\n', 'stacks/templates/one.yaml': ONE };
const [COMMON, HIERARCHY] = ['types/common/global.yaml', 'hierarchy.yaml'] as const;
const [STAGING, PRODUCTION] = ['types/environment/staging.yaml', 'types/environment/production.yaml'];
const PRINTER = 'types/clientcert/printer.yaml';

/** Each changed key: `key: from -> to on nodes (file:line)`. */
function keyLines({ configuration }: Plan): readonly string[] {
  return configuration.map(({ key, from, to, nodes, source: { file, line } }) => {
    return `${key}: ${JSON.stringify(from)} -> ${JSON.stringify(to)} on ${nodes} (${file}:${line})`;
  });
}

const CONFIGURATION: Readonly<Record<string, { beside?: TextChanges; changes: TextChanges; lines: string[] }>> = {
  'added, removed and changed keys': {
    changes: { [STAGING]: 'stage: dev\nmotd: hello\n', [COMMON]: 'ntp: [a]\nadmin_password: secret/admin\n' },
    lines: [
      `log: "info" -> null on 6 (${COMMON}:null)`,
      `motd: null -> "hello" on 2 (${STAGING}:2)`,
      `stage: "test" -> "dev" on 2 (${STAGING}:1)`,
    ],
  },
  'another order of layers': {
    beside: {
      [PRODUCTION]: 'log: warn\n',
      'types/shape/small.yaml': 'log: error\n',
      [HIERARCHY]: `${SHOP[HIERARCHY]}order: [common, environment, shape]\n`,
    },
    changes: { [HIERARCHY]: `${SHOP[HIERARCHY]}order: [common, shape, environment]\n` },
    lines: [`log: "error" -> "warn" on 4 (${PRODUCTION}:1)`],
  },
  'another merge rule': {
    beside: { [PRODUCTION]: 'ntp: [b]\n' },
    changes: { [HIERARCHY]: `${SHOP[HIERARCHY]}merge: { ntp: unique }\n` },
    lines: [`ntp: ["b"] -> ["b","a"] on 4 (${PRODUCTION}:1)`],
  },
  'an added and a removed description': {
    beside: { [PRINTER]: 'description: Old\n' },
    changes: { [PRINTER]: '{}\n', 'types/clientcert/shop-db.yaml': 'description: The orders\n' },
    lines: [
      'description: "Old" -> "" on 1 (null:null)',
      'description: "db of shop" -> "The orders" on 1 (types/clientcert/shop-db.yaml:1)',
    ],
  },
  'nothing if a more specific layer hides the key': {
    changes: { [COMMON]: `${SHOP[COMMON]}stage: none\n` },
    lines: [],
  },
  'a property, in the file where it is written, for all servers together': {
    changes: replaced(SHOP_FILE, '8080', '8081'),
    lines: [`port: "8080" -> "8081" on 3 (${SHOP_FILE}:3)`],
  },
  'a text distinguished from a list that looks like it': {
    beside: { [STAGING]: 'x: y\n', [PRODUCTION]: 'x: y\n' },
    changes: { [STAGING]: 'x: \'["a"]\'\n', [PRODUCTION]: 'x: [a]\n' },
    lines: [`x: "y" -> ["a"] on 4 (${PRODUCTION}:1)`, `x: "y" -> "[\\"a\\"]" on 2 (${STAGING}:1)`],
  },
  'the description and the instance of a server that moves': {
    beside: MOVING,
    changes: { 'stacks/instances/a.yaml': null, 'stacks/instances/b.yaml': 'stackTemplate: one\n' },
    lines: [
      expect.stringContaining('description: "server of a" -> "server of b" on 1'),
      expect.stringContaining('stackInstance: ["a"] -> ["b"] on 1'),
    ],
  },
};

describe('configuration', () => {
  it('groups one line of common over all nodes', () => {
    const plan = planned(replaced(COMMON, 'log: info', 'log: debug'));
    expect(plan.changes).toEqual([]);
    expect(plan.configuration).toEqual([
      {
        key: 'log',
        from: 'info',
        to: 'debug',
        isSecret: false,
        nodes: 6,
        examples: ['blog-db', 'blog-web-1', 'shop-db', 'shop-web-1', 'shop-web-2'],
        source: { type: 'common', name: 'global', file: COMMON, line: 2 },
      },
    ]);
  });

  it.each(Object.entries(CONFIGURATION))('has %s', (_, { beside = {}, changes, lines }) => {
    expect(keyLines(planned(changes, { files: { ...SHOP, ...beside } }))).toEqual(lines);
  });

  it('names added and removed hand-written nodes', () => {
    const files = { ...SHOP, 'types/clientcert/old.yaml': 'ip: 192.0.2.1\n' };
    const plan = planned({ 'types/clientcert/old.yaml': null, 'types/clientcert/new.yaml': '{}\n' }, { files });
    expect(plan.nodes).toEqual([
      { action: 'add', node: 'new', file: 'types/clientcert/new.yaml' },
      { action: 'remove', node: 'old', file: 'types/clientcert/old.yaml' },
    ]);
    expect(plan.configuration).toEqual([]);
  });
});

describe('secrets', () => {
  const text = (plan: unknown): string => JSON.stringify(plan);

  it('of a layer are shown without a value', () => {
    const plan = planned(replaced('types/common/global.yaml', 'secret/admin', 'secret/other'));
    expect(plan.configuration).toMatchObject([
      { key: 'admin_password', isSecret: true, from: '(secret)', to: '(secret)', nodes: 6 },
    ]);
    expect(text(plan)).not.toMatch(/secret\/(admin|other)/);
  });

  it('of a property are shown without a value', () => {
    const plan = planned(replaced(SHOP_FILE, '8080"', '8080"\n  token: secret/mine'));
    expect(plan.changes[0]?.properties).toEqual({ api_password: { from: '(secret)', to: '(secret)' } });
    expect(text(plan)).not.toMatch(/secret\/(token|mine)/);
  });

  it('stay hidden if the merge removes the rule', () => {
    const plan = planned({
      'hierarchy.yaml': 'merge: {}\n',
      ...replaced('types/common/global.yaml', 'secret/admin', 'plain'),
    });
    expect(text(plan)).not.toMatch(/secret\/admin|plain/);
    expect(plan.configuration).toMatchObject([{ key: 'admin_password', isSecret: true }]);
  });

  it('that are added and removed are shown as such', () => {
    const plan = planned({ 'types/common/global.yaml': 'ntp: [a]\nlog: info\nother_password: secret/x\n' });
    expect(plan.configuration.map(({ key, from, to }) => [key, from, to])).toEqual([
      ['admin_password', '(secret)', null],
      ['other_password', null, '(secret)'],
    ]);
  });
});

describe('access', () => {
  it('has added, removed and changed clients', () => {
    const files = { ...SHOP, 'clients/B2.yaml': 'role: proxy\ntags: [lab]\n', 'clients/C3.yaml': 'role: proxy\n' };
    const plan = planned(
      {
        'clients/B2.yaml': 'role: proxy\ntags: [home]\n',
        'clients/C3.yaml': null,
        'clients/D4.yaml': 'role: administrator\ndescription: Ops\n',
      },
      { files },
    );
    expect(plan.access).toEqual([
      { action: 'change', serial: 'B2', description: '', role: { from: 'proxy', to: 'proxy' }, fields: ['tags'] },
      { action: 'remove', serial: 'C3', description: '', role: { from: 'proxy', to: null }, fields: [] },
      { action: 'add', serial: 'D4', description: 'Ops', role: { from: null, to: 'administrator' }, fields: [] },
    ]);
  });

  it('keeps the last administrator, with a problem', () => {
    const plan = planned({ 'clients/A1.yaml': 'role: proxy\n' });
    expect(plan.access).toEqual([]);
    expect(plan.problems).toMatchObject([{ code: 'last_administrator' }]);
  });
});

/** Each changed setting as `object field: from -> to`. */
function safetyLines({ safety }: Plan): readonly string[] {
  return safety.map(({ object, field, from, to }) => `${object} ${field}: ${from} -> ${to}`);
}

const BLOG = SHOP[BLOG_FILE];
const PAUSE = 'stackTemplateAdditions: { resources: { web: { properties: { pause_seconds: "5" } } } }\n';

describe('safety', () => {
  it.each<[what: string, beside: TextChanges, changes: TextChanges, lines: readonly string[]]>([
    [
      'the fields of instances without their defaults',
      { [BLOG_FILE]: `${BLOG}protected: true\ndeletion: retain\n` },
      {
        [BLOG_FILE]: `${BLOG}deletion: delete\ndrift: heal\n`,
        [SHOP_FILE]: `${SHOP[SHOP_FILE]}protected: false\n`,
      },
      ['deletion: retain -> delete', 'drift: null -> heal', 'protected: true -> false'].map(
        (line) => `stack-instance/blog ${line}`,
      ),
    ],
    [
      'the rollout once for all instances of a template',
      {},
      replaced(TEMPLATE, 'max_unavailable: "1"', 'max_unavailable: "100%"'),
      ['stack-template/web web/max_unavailable: 1 -> 100%'],
    ],
    [
      'the rollout of an instance that changes it',
      {},
      { [SHOP_FILE]: `${SHOP[SHOP_FILE]}${PAUSE}` },
      ['stack-instance/shop web/pause_seconds: 0 -> 5'],
    ],
    [
      'nodes of the tree by their path',
      {},
      {
        'tree.yaml':
          'name: global\ntype: common\nchildren:\n  - { name: lab, type: environment }\n  - { name: production, type: environment }\n  - { name: staging, type: environment, children: [{ name: dmz, type: zone }] }\n',
      },
      ['tree /global/lab: null -> environment', 'tree /global/staging/dmz: null -> zone'],
    ],
    [
      'merge rules',
      {},
      { [HIERARCHY]: `${SHOP[HIERARCHY]}merge: { ntp: unique }\n` },
      ['hierarchy /merge/ntp: null -> unique'],
    ],
    [
      'the settings of added and removed instances that differ from the default',
      { [BLOG_FILE]: `${BLOG}deletion: retain\n` },
      { [BLOG_FILE]: null, 'stacks/instances/wiki.yaml': 'stackTemplate: web\nadopt: true\n' },
      ['stack-instance/blog deletion: retain -> null', 'stack-instance/wiki adopt: null -> true'],
    ],
  ])('has %s', (_, beside, changes, lines) => {
    expect(safetyLines(planned(changes, { files: { ...SHOP, ...beside } }))).toEqual(lines);
  });
});

it('a plan for one node lists only the changes of that server and its record, but all holds', () => {
  const common = 'types/common/global.yaml';
  const changes = { [common]: SHOP[common].replace('info', 'debug'), [BLOG_FILE]: null };
  const plan = planned(changes, { budget: 1, node: 'shop-web-1' });
  expect([actionsIn(plan), keysIn(plan)]).toEqual([[], ['log on 1']]);
  expect(plan.configuration[0]?.examples).toEqual(['shop-web-1']);
  expect(plan.held).toMatchObject({ instances: ['blog'], deletes: 2 });
  expect(actionsIn(planned(changes, { node: 'blog-db' }))).toEqual(['delete blog-db']);
  expect(() => planned(changes, { node: 'shop-web-44' })).toThrow('no node "shop-web-44"; did you mean "shop-web-1"?');
});

const PROTECTED = { [SHOP_FILE]: `${SHOP[SHOP_FILE]}protected: true\n` };
const RETAINED = { [BLOG_FILE]: `${BLOG}deletion: retain\n` };
const SETTINGS = { percent: 10, least: null, most: 20 };

describe('deletes', () => {
  it.each<[what: string, beside: TextChanges, changes: TextChanges, options: PlanOptions, plan: object]>([
    [
      'of an instance that retains its servers leave them as they are',
      RETAINED,
      { [BLOG_FILE]: null },
      {},
      { changes: [], retained: [{ resource: 'blog-db' }, { resource: 'blog-web-1', group: 'web' }], held: null },
    ],
    [
      'of a protected instance do not happen, and are a problem',
      PROTECTED,
      { [SHOP_FILE]: PROTECTED[SHOP_FILE].replace('8080"', '8080"\n  count: "1"') },
      {},
      { changes: [], problems: [{ code: 'protected_instance', file: SHOP_FILE, line: 5 }], invalid: ['shop'] },
    ],
    [
      'of an instance whose protection ends in the same merge do not happen either',
      PROTECTED,
      { [SHOP_FILE]: null },
      {},
      { changes: [], problems: [{ code: 'protected_instance' }] },
    ],
    ['within the budget of the settings are not held', {}, { [BLOG_FILE]: null }, { budget: SETTINGS }, { held: null }],
    [
      'beyond the budget of the settings are held',
      {},
      { [SHOP_FILE]: null },
      { budget: SETTINGS },
      { held: { limit: 2, deletes: 4 } },
    ],
    ['that a trailer allows are not held', {}, { [BLOG_FILE]: null }, { budget: 1, approvedCount: 2 }, { held: null }],
    [
      'of servers that an invalid instance may take over are held',
      {},
      { [BLOG_FILE]: null, 'stacks/instances/wiki.yaml': 'stackTemplate: wbe\n' },
      {},
      { held: { kind: 'unreadable', limit: null, deletes: 2, instances: ['blog'] }, invalid: ['wiki'] },
    ],
    [
      'of everything hold the whole commit',
      {},
      { [BLOG_FILE]: null, [SHOP_FILE]: null },
      {},
      {
        held: { kind: 'nothing left', limit: null, deletes: 6, instances: ['blog', 'shop'] },
        problems: [{ code: 'nothing_left' }],
        changes: Array(6).fill({ action: 'delete' }),
      },
    ],
    [
      'of everything omit a protected instance, with the reason',
      PROTECTED,
      { [BLOG_FILE]: null, [SHOP_FILE]: null },
      {},
      {
        invalid: ['shop'],
        problems: [{ code: 'nothing_left' }, { code: 'protected_instance', instances: ['shop'] }],
        changes: Array(2).fill({ action: 'delete' }),
      },
    ],
  ])('%s', (_, beside, changes, options, plan) => {
    expect(planned(changes, { files: { ...SHOP, ...beside }, ...options })).toMatchObject(plan);
  });

  it('beyond the budget are listed, and held', () => {
    const plan = planned({ [BLOG_FILE]: null, ...replaced(SHOP_FILE, '8080', '8081') }, { budget: 1 });
    expect(actionsIn(plan)).toContain('delete blog-db');
    expect(actionsIn(plan)).toContain('update shop-web-1');
    expect(plan.held).toEqual({
      kind: 'budget',
      limit: 1,
      deletes: 2,
      instances: ['blog'],
      waiting: [],
      reason: expect.stringContaining('the limit is 1'),
    });
    expect(plan.invalid).toEqual([]);
  });
});

describe('an instance that waits for a held one', () => {
  const named = (first: string, second: string): string =>
    `stackTemplate: two\nparameters: { first: ${first}, second: ${second} }\n`;
  const files = {
    ...SHOP,
    'stacks/templates/two.yaml':
      'parameters: { first: "", second: "" }\nresources:\n  a: { type: Platform::Server, properties: { name: "<<first>>" } }\n  b: { type: Platform::Server, properties: { name: "<<second>>" } }\n',
    'stacks/instances/giver.yaml': named('x', 'y'),
  };

  it('is shown with its changes after the approval', () => {
    const changes = { 'stacks/instances/giver.yaml': null, 'stacks/instances/taker.yaml': named('y', 'z') };
    const plan = planned(changes, { files, budget: 0 });
    expect(plan.held).toMatchObject({ kind: 'budget', limit: 0, deletes: 1, instances: ['giver'], waiting: ['taker'] });
    expect(actionsIn(plan)).toEqual(['delete x', 'create z']);
    expect(plan.configuration.map(({ key, to }) => [key, to])).toEqual([
      ['description', 'a of taker'],
      ['stackInstance', ['taker']],
    ]);
    expect(plan.invalid).toEqual([]);
    const allowed = planned(changes, { files, budget: 1 });
    expect(allowed).toMatchObject({ held: null, changes: plan.changes });
  });
});

describe('problems', () => {
  it('are the new ones, with the number of the others', () => {
    const files = { ...SHOP, 'stacks/instances/wiki.yaml': 'stackTemplate: wbe\n' };
    const plan = planned(
      { 'stacks/instances/wiki.yaml': '# moved\nstackTemplate: wbe\n', [BLOG_FILE]: 'stackTemplate: wbe\n' },
      { files },
    );
    expect(plan.problems).toMatchObject([{ code: 'unknown_template', file: BLOG_FILE }]);
    expect(plan.knownProblems).toBe(1);
    expect(plan.invalid).toEqual(['blog']);
  });

  it('of a template count again for a newly affected instance', () => {
    const files = {
      ...SHOP,
      'stacks/templates/bad.yaml': 'resources: { a: { type: Platform::Server, properties: { name: "<<x>>" } } }\n',
      'stacks/instances/wiki.yaml': 'stackTemplate: bad\n',
    };
    const plan = planned({ 'stacks/instances/news.yaml': 'stackTemplate: bad\n' }, { files });
    expect(plan.problems).toMatchObject([{ file: 'stacks/templates/bad.yaml', instances: ['news', 'wiki'] }]);
  });

  it('of the tree hold everything', () => {
    const plan = planned({ 'tree.yaml': 'name: [', [BLOG_FILE]: null });
    expect(plan).toMatchObject({ changes: [], safety: [], access: [], held: null, invalid: [] });
    expect(plan.problems[0]).toMatchObject({ file: 'tree.yaml', severity: 'error' });
  });
});
