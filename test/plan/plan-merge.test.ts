// The effects of a merge, each by itself.
import { describe, expect, it } from 'vitest';
import { TextRepository } from '../support/text-repository.ts';
import { actionsIn, keysIn, planned, plannedOn, SHOP } from './planned.ts';

const SHOP_FILE = 'stacks/instances/shop.yaml';
const BLOG_FILE = 'stacks/instances/blog.yaml';
const TEMPLATE = 'stacks/templates/web.yaml';

function replaced(path: keyof typeof SHOP, from: string, to: string): Readonly<Record<string, string>> {
  const text = SHOP[path].replace(from, to);
  expect(text).not.toBe(SHOP[path]);
  return { [path]: text };
}

describe('servers', () => {
  it('are none where only a comment changes', () => {
    const plan = planned({ [SHOP_FILE]: `# a comment\n${SHOP[SHOP_FILE]}` });
    expect(plan).toMatchObject({ changes: [], configuration: [], safety: [], problems: [], held: null });
  });

  it('are created where a group grows, for the line of its count', () => {
    const plan = planned(replaced(SHOP_FILE, '8080"\n', '8080"\n  count: "4"\n'));
    expect(actionsIn(plan)).toEqual(['update shop-db', 'create shop-web-4']);
    expect(plan.changes[1]).toMatchObject({
      reason: '"web" of the stack instance "shop" has 4 servers, and had 3',
      ...{ instance: 'shop', group: 'web', file: SHOP_FILE, line: 4, properties: {} },
    });
    expect(plan.changes[0]).toMatchObject({
      reason: 'the property "peers" changes',
      properties: {
        peers: {
          from: ['shop-web-1', 'shop-web-2', 'shop-web-3'],
          to: ['shop-web-1', 'shop-web-2', 'shop-web-3', 'shop-web-4'],
        },
      },
    });
  });

  it('are deleted where a group becomes empty', () => {
    expect(planned(replaced(BLOG_FILE, '"1"', '"0"')).changes[1]?.reason).toBe(
      '"web" of the stack instance "blog" has 0 servers, and had 1',
    );
  });

  it('are deleted where the default of a parameter says fewer, for that line', () => {
    const plan = planned(replaced(TEMPLATE, 'count: "3"', 'count: "2"'));
    expect(actionsIn(plan)).toEqual(['update shop-db', 'delete shop-web-3']);
    expect(plan.changes[1]).toMatchObject({ file: TEMPLATE, line: 1 });
  });

  it('are updated with a property of the instance, with its line', () => {
    const plan = planned(replaced(SHOP_FILE, '8080', '8081'));
    expect(actionsIn(plan)).toEqual(['update shop-web-1', 'update shop-web-2', 'update shop-web-3']);
    expect(plan.changes[0]).toMatchObject({
      file: SHOP_FILE,
      line: 3,
      properties: { port: { from: '8080', to: '8081' } },
    });
  });

  it('are updated with a key of a provisioning layer, with its line', () => {
    const plan = planned({ 'types/shape/large.yaml': '# bigger\ncpus: 16\n' });
    expect(actionsIn(plan)).toEqual(['update blog-db', 'update shop-db']);
    expect(plan.changes[0]).toMatchObject({
      ...{ file: 'types/shape/large.yaml', line: 2 },
      properties: { 'shape.cpus': { from: 8, to: 16 } },
    });
  });

  it('are updated where they select another layer, for the line that selects it', () => {
    const plan = planned(replaced(SHOP_FILE, '8080"', '8080"\n  shape: large'));
    expect(plan.changes[0]).toMatchObject({
      ...{ file: SHOP_FILE, line: 4 },
      properties: { shape: { from: 'small', to: 'large' }, 'shape.cpus': { from: 2, to: 8 } },
    });
  });

  it('of a new instance name it, and those of a removed one its file without a line', () => {
    const plan = planned({ [BLOG_FILE]: null, 'stacks/instances/wiki.yaml': 'stackTemplate: web\n' });
    expect(actionsIn(plan)).toEqual([
      ...['delete blog-db', 'delete blog-web-1'],
      ...['create wiki-db', 'create wiki-web-1', 'create wiki-web-2', 'create wiki-web-3'],
    ]);
    expect(plan.changes[0]).toMatchObject({
      reason: 'the stack instance "blog" is removed',
      file: BLOG_FILE,
      line: null,
    });
    expect(plan.changes[2]).toMatchObject({ reason: 'the stack instance "wiki" is new', line: 1 });
  });

  it('of a resource that is removed from the template name the resource', () => {
    const text = SHOP[TEMPLATE].slice(0, SHOP[TEMPLATE].indexOf('  db:'));
    const plan = planned({ [TEMPLATE]: text });
    expect(actionsIn(plan)).toEqual(['delete blog-db', 'delete shop-db']);
    expect(plan.changes[1]).toMatchObject({
      reason: 'the stack instance "shop" has no resource "db" any more',
      ...{ file: TEMPLATE, line: 2 },
    });
  });

  it('that move to another instance and stay as they are are no change', () => {
    const moved = { 'stacks/instances/a.yaml': `stackTemplate: one\n`, 'stacks/templates/one.yaml': ONE };
    const files = { ...SHOP, ...moved };
    expect(
      actionsIn(
        planned({ 'stacks/instances/a.yaml': null, 'stacks/instances/b.yaml': 'stackTemplate: one\n' }, { files }),
      ),
    ).toEqual([]);
  });

  it('of an instance that becomes valid are those of its newest file', () => {
    const repository = new TextRepository();
    repository.commit({ ...SHOP, [BLOG_FILE]: 'stackTemplate: wbe\n' });
    const before = repository.commit({});
    const plan = plannedOn(before, SHOP);
    expect(actionsIn(plan)).toEqual(['create blog-db', 'create blog-web-1']);
    expect(plan.changes[0]).toMatchObject({
      reason: 'the stack instance "blog" becomes active for the first time',
      ...{ file: BLOG_FILE, line: 1 },
    });
    expect(plan.invalid).toEqual([]);
  });

  it('of an instance whose template is corrected name the line that mends it', () => {
    const bad = 'resources:\n  a:\n    type: Platform::Server\n    properties: { port: "<<x>>" }\n';
    const files = { ...SHOP, 'stacks/templates/t.yaml': bad, 'stacks/instances/wiki.yaml': 'stackTemplate: t\n' };
    const plan = planned(
      {
        'stacks/templates/t.yaml': bad.replace('<<x>>', '80'),
        'stacks/instances/wiki.yaml': '# wiki\nstackTemplate: t\n',
      },
      { files },
    );
    expect(plan.changes).toMatchObject([
      { action: 'create', resource: 'wiki-a', file: 'stacks/templates/t.yaml', line: 4 },
    ]);
  });

  it('of an instance that something else mends name no line', () => {
    const files = {
      ...SHOP,
      'stacks/instances/wiki.yaml': 'stackTemplate: t\n',
      'stacks/templates/t.yaml': 'resources: { a: { type: Platform::Server, properties: { depends_on: far } } }\n',
    };
    const far = {
      'stacks/instances/far.yaml': 'stackTemplate: far\n',
      'stacks/templates/far.yaml': ONE.replace('solo', 'far'),
    };
    const plan = planned(far, { files });
    expect(plan.changes.map(({ resource, file }) => [resource, file])).toEqual([
      ['far', 'stacks/instances/far.yaml'],
      ['wiki-a', null],
    ]);
  });

  it('are all new where nothing is in force', () => {
    const plan = plannedOn(undefined, SHOP);
    expect(plan.changes.map(({ action }) => action)).toEqual(Array.from({ length: 6 }, () => 'create'));
    expect(plan.access).toEqual([
      { action: 'add', serial: 'A1', description: '', role: { from: null, to: 'administrator' }, fields: [] },
    ]);
    expect(plan.held).toBeNull();
  });
});

const ONE = 'resources:\n  server:\n    type: Platform::Server\n    properties: { name: solo }\n';

describe('configuration', () => {
  it('groups one line of common over all nodes', () => {
    const plan = planned(replaced('types/common/global.yaml', 'log: info', 'log: debug'));
    expect(plan.changes).toEqual([]);
    expect(plan.configuration).toEqual([
      {
        ...{ key: 'log', from: 'info', to: 'debug', isSecret: false, nodes: 6 },
        examples: ['blog-db', 'blog-web-1', 'shop-db', 'shop-web-1', 'shop-web-2'],
        source: { type: 'common', name: 'global', file: 'types/common/global.yaml', line: 2 },
      },
    ]);
  });

  it('tells keys that come, go and change apart', () => {
    const plan = planned({
      'types/environment/staging.yaml': 'stage: dev\nmotd: hello\n',
      'types/common/global.yaml': 'ntp: [a]\nadmin_password: secret/admin\n',
    });
    expect(plan.configuration.map(({ key, from, to, nodes }) => [key, from, to, nodes])).toEqual([
      ['log', 'info', null, 6],
      ['motd', null, 'hello', 2],
      ['stage', 'test', 'dev', 2],
    ]);
    expect(plan.configuration[0]?.source).toEqual({
      type: 'common',
      name: 'global',
      file: 'types/common/global.yaml',
      line: null,
    });
  });

  it('follows a changed order of layers', () => {
    const files = {
      ...SHOP,
      'types/environment/production.yaml': 'log: warn\n',
      'types/shape/small.yaml': 'log: error\n',
      'hierarchy.yaml': `${SHOP['hierarchy.yaml']}order: [common, environment, shape]\n`,
    };
    const order = `${SHOP['hierarchy.yaml']}order: [common, shape, environment]\n`;
    const plan = planned({ 'hierarchy.yaml': order }, { files });
    expect(plan.configuration.map(({ key, from, to, nodes }) => [key, from, to, nodes])).toEqual([
      ['log', 'error', 'warn', 4],
    ]);
  });

  it('has the description that somebody writes, and null for one that is removed', () => {
    const files = { ...SHOP, 'types/clientcert/printer.yaml': 'description: Old\n' };
    const plan = planned(
      { 'types/clientcert/printer.yaml': '{}\n', 'types/clientcert/shop-db.yaml': 'description: The orders\n' },
      { files },
    );
    expect(plan.configuration.map(({ key, from, to, source }) => [key, from, to, source.file, source.line])).toEqual([
      ['description', 'Old', '', null, null],
      ['description', 'db of shop', 'The orders', 'types/clientcert/shop-db.yaml', 1],
    ]);
  });

  it('leaves out what a more specific layer hides', () => {
    expect(keysIn(planned({ 'types/common/global.yaml': `${SHOP['types/common/global.yaml']}stage: none\n` }))).toEqual(
      [],
    );
  });

  it('names the file in which a property is written, for all servers together', () => {
    const plan = planned(replaced(SHOP_FILE, '8080', '8081'));
    expect(plan.configuration).toMatchObject([
      { key: 'port', nodes: 3, source: { type: 'stack-instance', name: 'shop', file: SHOP_FILE, line: 3 } },
    ]);
  });

  it('follows a changed merge rule', () => {
    const files = { ...SHOP, 'types/environment/production.yaml': 'ntp: [b]\n' };
    const plan = planned({ 'hierarchy.yaml': `${SHOP['hierarchy.yaml']}merge: { ntp: unique }\n` }, { files });
    expect(plan.configuration).toMatchObject([{ key: 'ntp', from: ['b'], to: ['b', 'a'], nodes: 4 }]);
    expect(plan.safety).toEqual([{ object: 'hierarchy', field: '/merge/ntp', from: null, to: 'unique' }]);
  });

  it('tells a text from a list that looks like it', () => {
    const files = {
      ...SHOP,
      'types/environment/staging.yaml': 'x: y\n',
      'types/environment/production.yaml': 'x: y\n',
    };
    const plan = planned(
      { 'types/environment/staging.yaml': 'x: \'["a"]\'\n', 'types/environment/production.yaml': 'x: [a]\n' },
      { files },
    );
    expect(plan.configuration.map(({ to, nodes }) => [to, nodes])).toEqual([
      [['a'], 4],
      ['["a"]', 2],
    ]);
  });

  it('names hand-written nodes that come and go', () => {
    const files = { ...SHOP, 'types/clientcert/old.yaml': 'ip: 192.0.2.1\n' };
    const plan = planned({ 'types/clientcert/old.yaml': null, 'types/clientcert/new.yaml': '{}\n' }, { files });
    expect(plan.nodes).toEqual([
      { action: 'add', node: 'new', file: 'types/clientcert/new.yaml' },
      { action: 'remove', node: 'old', file: 'types/clientcert/old.yaml' },
    ]);
    expect(plan.configuration).toEqual([]);
  });

  it('has the description and the instance of a server that moves', () => {
    const files = { ...SHOP, 'stacks/instances/a.yaml': 'stackTemplate: one\n', 'stacks/templates/one.yaml': ONE };
    const plan = planned(
      { 'stacks/instances/a.yaml': null, 'stacks/instances/b.yaml': 'stackTemplate: one\n' },
      { files },
    );
    expect(plan.configuration.map(({ key, from, to }) => [key, from, to])).toEqual([
      ['description', 'server of a', 'server of b'],
      ['stackInstance', ['a'], ['b']],
    ]);
  });
});

describe('secrets', () => {
  const text = (plan: unknown): string => JSON.stringify(plan);

  it('of a layer are told without a value', () => {
    const plan = planned(replaced('types/common/global.yaml', 'secret/admin', 'secret/other'));
    expect(plan.configuration).toMatchObject([
      { key: 'admin_password', isSecret: true, from: '(secret)', to: '(secret)', nodes: 6 },
    ]);
    expect(text(plan)).not.toMatch(/secret\/(admin|other)/);
  });

  it('of a property are told without a value', () => {
    const plan = planned(replaced(SHOP_FILE, '8080"', '8080"\n  token: secret/mine'));
    expect(plan.changes[0]?.properties).toEqual({ api_password: { from: '(secret)', to: '(secret)' } });
    expect(text(plan)).not.toMatch(/secret\/(token|mine)/);
  });

  it('stay hidden where the merge takes the rule away', () => {
    const plan = planned({
      'hierarchy.yaml': 'merge: {}\n',
      ...replaced('types/common/global.yaml', 'secret/admin', 'plain'),
    });
    expect(text(plan)).not.toMatch(/secret\/admin|plain/);
    expect(plan.configuration).toMatchObject([{ key: 'admin_password', isSecret: true }]);
  });

  it('that appear and go are told so', () => {
    const plan = planned({ 'types/common/global.yaml': 'ntp: [a]\nlog: info\nother_password: secret/x\n' });
    expect(plan.configuration.map(({ key, from, to }) => [key, from, to])).toEqual([
      ['admin_password', '(secret)', null],
      ['other_password', null, '(secret)'],
    ]);
  });
});

describe('access', () => {
  it('has clients that come, go and change', () => {
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

  it('keeps the last administrator, and the problem says so', () => {
    const plan = planned({ 'clients/A1.yaml': 'role: proxy\n' });
    expect(plan.access).toEqual([]);
    expect(plan.problems).toMatchObject([{ code: 'last_administrator' }]);
  });
});

describe('safety', () => {
  it('has the fields of instances, and not their defaults', () => {
    const files = { ...SHOP, [BLOG_FILE]: `${SHOP[BLOG_FILE]}protected: true\ndeletion: retain\n` };
    const plan = planned(
      {
        [BLOG_FILE]: `${SHOP[BLOG_FILE]}deletion: delete\ndrift: heal\n`,
        [SHOP_FILE]: `${SHOP[SHOP_FILE]}protected: false\n`,
      },
      { files },
    );
    expect(plan.safety).toEqual([
      { object: 'stack-instance/blog', field: 'deletion', from: 'retain', to: 'delete' },
      { object: 'stack-instance/blog', field: 'drift', from: null, to: 'heal' },
      { object: 'stack-instance/blog', field: 'protected', from: true, to: false },
    ]);
  });

  it('has the pace of updates once for all instances of a template', () => {
    const plan = planned(replaced(TEMPLATE, 'max_unavailable: "1"', 'max_unavailable: "100%"'));
    expect(plan.changes).toEqual([]);
    expect(plan.safety).toEqual([
      { object: 'stack-template/web', field: 'web/max_unavailable', from: '1', to: '100%' },
    ]);
  });

  it('has nodes of the tree by their path, and no others', () => {
    const plan = planned({
      'tree.yaml':
        'name: global\ntype: common\nchildren:\n  - { name: lab, type: environment }\n  - { name: production, type: environment }\n  - { name: staging, type: environment, children: [{ name: dmz, type: zone }] }\n',
    });
    expect(plan.safety).toEqual([
      { object: 'tree', field: '/global/lab', from: null, to: 'environment' },
      { object: 'tree', field: '/global/staging/dmz', from: null, to: 'zone' },
    ]);
  });
});

describe('more of safety', () => {
  it('has the pace of one instance that changes it', () => {
    const additions = 'stackTemplateAdditions: { resources: { web: { properties: { pause_seconds: "5" } } } }\n';
    const plan = planned({ [SHOP_FILE]: `${SHOP[SHOP_FILE]}${additions}` });
    expect(plan.safety).toEqual([{ object: 'stack-instance/shop', field: 'web/pause_seconds', from: '0', to: '5' }]);
  });

  it('has the settings of instances that come and go, where they are not the default', () => {
    const files = { ...SHOP, [BLOG_FILE]: `${SHOP[BLOG_FILE]}deletion: retain\n` };
    const plan = planned(
      { [BLOG_FILE]: null, 'stacks/instances/wiki.yaml': 'stackTemplate: web\nadopt: true\n' },
      { files },
    );
    expect(plan.safety).toEqual([
      { object: 'stack-instance/blog', field: 'deletion', from: 'retain', to: null },
      { object: 'stack-instance/wiki', field: 'adopt', from: null, to: true },
    ]);
  });
});

it('a plan for one node lists only the changes of that server and its record, and holds all the same', () => {
  const common = 'types/common/global.yaml';
  const changes = { [common]: SHOP[common].replace('info', 'debug'), [BLOG_FILE]: null };
  const plan = planned(changes, { budget: 1, node: 'shop-web-1' });
  expect([actionsIn(plan), keysIn(plan)]).toEqual([[], ['log on 1']]);
  expect(plan.configuration[0]?.examples).toEqual(['shop-web-1']);
  expect(plan.held).toMatchObject({ instances: ['blog'], deletes: 2 });
  expect(actionsIn(planned(changes, { node: 'blog-db' }))).toEqual(['delete blog-db']);
  expect(() => planned(changes, { node: 'shop-web-44' })).toThrow('no node "shop-web-44"; did you mean "shop-web-1"?');
});

describe('servers under other names', () => {
  it('are deleted and created', () => {
    const plan = planned(
      replaced(
        TEMPLATE,
        '          environment: production',
        '          name: "<<index>>-<<port>>"\n          environment: production',
      ),
    );
    expect(plan.changes.find(({ action }) => action === 'delete')).toMatchObject({
      reason: '"web" of the stack instance "blog" has servers of other names',
      ...{ file: TEMPLATE, line: 10 },
    });
  });
});

describe('deletes', () => {
  it('of an instance that retains its servers leave them as they are', () => {
    const files = { ...SHOP, [BLOG_FILE]: `${SHOP[BLOG_FILE]}deletion: retain\n` };
    const plan = planned({ [BLOG_FILE]: null }, { files });
    expect(plan.changes).toEqual([]);
    expect(plan.retained).toMatchObject([
      { resource: 'blog-db' },
      { resource: 'blog-web-1', instance: 'blog', group: 'web' },
    ]);
    expect(plan.held).toBeNull();
  });

  it('of a protected instance do not happen, and are a problem', () => {
    const files = { ...SHOP, [SHOP_FILE]: `${SHOP[SHOP_FILE]}protected: true\n` };
    const plan = planned(
      { [SHOP_FILE]: `${SHOP[SHOP_FILE]}protected: true\n`.replace('8080"', '8080"\n  count: "1"') },
      { files },
    );
    expect(plan.changes).toEqual([]);
    expect(plan.problems).toMatchObject([{ code: 'protected_instance', file: SHOP_FILE, line: 5 }]);
    expect(plan.invalid).toEqual(['shop']);
  });

  it('lifted in the same merge do not happen either', () => {
    const files = { ...SHOP, [SHOP_FILE]: `${SHOP[SHOP_FILE]}protected: true\n` };
    expect(planned({ [SHOP_FILE]: null }, { files })).toMatchObject({
      changes: [],
      problems: [{ code: 'protected_instance' }],
    });
  });

  it('beyond the budget are listed, and held', () => {
    const plan = planned({ [BLOG_FILE]: null, ...replaced(SHOP_FILE, '8080', '8081') }, { budget: 1 });
    expect(actionsIn(plan)).toContain('delete blog-db');
    expect(actionsIn(plan)).toContain('update shop-web-1');
    expect(plan.held).toEqual({
      ...{ kind: 'budget', limit: 1, deletes: 2, instances: ['blog'], waiting: [] },
      reason: expect.stringContaining('the limit is 1'),
    });
    expect(plan.invalid).toEqual([]);
  });

  it('have the budget of the settings', () => {
    const budget = { percent: 10, least: null, most: 20 };
    expect(planned({ [BLOG_FILE]: null }, { budget }).held).toBeNull();
    expect(planned({ [SHOP_FILE]: null }, { budget }).held).toMatchObject({ limit: 2, deletes: 4 });
  });

  it('that a trailer allows are not held', () => {
    expect(planned({ [BLOG_FILE]: null }, { budget: 1, approvedCount: 2 }).held).toBeNull();
  });

  it('that may be meant for a wrong instance are held', () => {
    const plan = planned({ [BLOG_FILE]: null, 'stacks/instances/wiki.yaml': 'stackTemplate: wbe\n' });
    expect(plan.held).toMatchObject({ kind: 'unreadable', limit: null, deletes: 2, instances: ['blog'] });
    expect(plan.invalid).toEqual(['wiki']);
  });

  it('of everything hold the whole commit', () => {
    const plan = planned({ [BLOG_FILE]: null, [SHOP_FILE]: null });
    expect(plan.held).toMatchObject({ kind: 'nothing left', limit: null, deletes: 6, instances: ['blog', 'shop'] });
    expect(plan.problems).toMatchObject([{ code: 'nothing_left' }]);
    expect(plan.changes).toHaveLength(6);
  });

  it('of everything leave out a protected instance, and say why', () => {
    const files = { ...SHOP, [SHOP_FILE]: `${SHOP[SHOP_FILE]}protected: true\n` };
    const plan = planned({ [BLOG_FILE]: null, [SHOP_FILE]: null }, { files });
    expect(plan.invalid).toEqual(['shop']);
    expect(plan.problems).toMatchObject([
      { code: 'nothing_left' },
      { code: 'protected_instance', instances: ['shop'] },
    ]);
    expect(plan.changes).toHaveLength(2);
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

  it('is told, with what it does once that is approved', () => {
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
  it('are those that base does not have, and the number of the others', () => {
    const files = { ...SHOP, 'stacks/instances/wiki.yaml': 'stackTemplate: wbe\n' };
    const plan = planned(
      { 'stacks/instances/wiki.yaml': '# moved\nstackTemplate: wbe\n', [BLOG_FILE]: 'stackTemplate: wbe\n' },
      { files },
    );
    expect(plan.problems).toMatchObject([{ code: 'unknown_template', file: BLOG_FILE }]);
    expect(plan.knownProblems).toBe(1);
    expect(plan.invalid).toEqual(['blog']);
  });

  it('of a template count again for an instance that meets them anew', () => {
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
