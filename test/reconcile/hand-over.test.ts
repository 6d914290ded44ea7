// A server that one commit takes from an instance, and that may be meant for another one which is wrong or not protected.
import { describe, expect, it } from 'vitest';
import { linkTo } from '../catalog/snapshots.ts';
import { Core } from './core.ts';

function template(keys: readonly string[], more = ''): string {
  const resources = keys.map((key) => {
    const properties = `name: ${key}, size: "<<size>>"${key === 'x' ? more : ''}`;
    return `  ${key}: { type: Platform::Server, properties: { ${properties} } }\n`;
  });
  return `parameters: { size: small }\nresources:\n${resources.join('')}`;
}

const A = 'stacks/instances/a.yaml';
const B = 'stacks/instances/b.yaml';
const C = 'stacks/instances/c.yaml';
const TA = 'stacks/templates/ta.yaml';
const TB = 'stacks/templates/tb.yaml';
const TEMPLATE_A = 'stackTemplate: ta\n';
const TEMPLATE_B = 'stackTemplate: tb\n';

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  [TA]: template(['s', 'k']),
  [TB]: template(['x']),
  [A]: TEMPLATE_A,
  [B]: TEMPLATE_B,
};

type Files = Readonly<Record<string, string | null>>;

/** The server `s` leaves `a`, and belongs to `b`. */
const HANDED = { [TA]: template(['k']), [TB]: template(['x', 's']) };
const MISSPELT = { ...HANDED, [B]: 'stackTemplate: tbb\n' };

async function up(files: Files = {}): Promise<Core> {
  const core = await Core.following({ ...FILES, ...files });
  expect(Object.keys(core.states()).sort()).toEqual(['k', 's', 'x']);
  return core;
}

async function follow(core: Core, files: Files, message?: string): Promise<void> {
  core.source.commit(files, message === undefined ? {} : { message });
  await core.poll();
}

describe('a server that is handed over to an invalid instance', () => {
  it.each<[what: string, files: Files, receiver: string, servers: readonly string[]]>([
    ['a misspelt template', MISSPELT, 'b', ['s']],
    ['an unknown parameter', { ...HANDED, [B]: `${TEMPLATE_B}parameters: { sizee: big }\n` }, 'b', ['s']],
    ['an undeclared placeholder', { ...HANDED, [TB]: template(['x', 's'], ', z: "<<nope>>"') }, 'b', ['s']],
    ['an error of YAML', { ...HANDED, [B]: `${TEMPLATE_B}  x: [\n` }, 'b', ['s']],
    ['a new instance with a typo', { [A]: null, [C]: `${TEMPLATE_A}parameters: { sizee: big }\n` }, 'c', ['k', 's']],
    ['two files of one name', { ...HANDED, 'stacks/instances/eu/b.yaml': TEMPLATE_B }, 'b', ['s']],
  ])('is held: %s', async (_what, files, receiver, servers) => {
    const core = await up();
    await follow(core, files);
    await core.pass(2 * 3_600_000);
    expect(core.calls('delete')).toEqual([]);
    expect(core.operator.held()).toMatchObject([{ kind: 'unreadable', instance: 'a', resources: servers }]);
    expect(core.held('a')?.reason).toBe(
      `"${receiver}" is wrong in the commit that takes these servers away, and may be what takes them over: correct it, or approve the deletes`,
    );
    expect(core.reader.status('a')).toBe('Awaiting approval');
  });

  it('stays held over other commits and restarts, also with more deletes', async () => {
    const core = await up();
    await follow(core, MISSPELT);
    const { reason } = core.held('a') ?? {};
    await follow(core, { 'types/role/web.yaml': 'port: "443"\n' });
    expect(core.held('a')).toMatchObject({ resources: ['s'], reason });
    const again = await core.restart();
    await again.poll();
    expect(again.held('a')).toMatchObject({ resources: ['s'], reason });
    await follow(again, { [TA]: template(['other']) });
    expect(again.held('a')).toMatchObject({ resources: ['k', 's'], reason });
    const last = await again.restart();
    await last.poll();
    await last.pass(2 * 3_600_000);
    expect(last.held('a')).toMatchObject({ resources: ['k', 's'], reason });
    expect(last.calls('delete')).toEqual([]);
  });

  it('moves to the corrected instance, and no server is created or deleted', async () => {
    const core = await up();
    await follow(core, MISSPELT);
    const calls = core.calls('create').length;
    await follow(core, { [B]: TEMPLATE_B });
    expect(core.operator.held()).toEqual([]);
    expect(core.ledger.server('s')?.instance).toBe('b');
    expect([core.calls('delete'), core.calls('create').length]).toEqual([[], calls]);
  });
});

describe('a server removed while an instance was invalid before', () => {
  it.each([
    ['without a restart', async (core: Core) => core],
    ['after a restart', async (core: Core) => await core.restart()],
  ])('is deleted within the budget, %s', async (_when, later) => {
    const core = await up();
    await follow(core, { [B]: 'stackTemplate: tbb\n', [C]: 'stackTemplate: [\n' });
    const then = await later(core);
    await then.poll();
    await follow(then, { [TA]: template(['k']) });
    expect(then.operator.held()).toEqual([]);
    expect(then.calls('delete')).toEqual(['s']);
  });

  it.each<[what: string, files: Files]>([
    ['its file', { [B]: `${TEMPLATE_B}parameters: { sizee: large }\n` }],
    ['its template', { [TB]: template(['x', 's']) }],
  ])('is held if that commit changes %s', async (_what, files) => {
    const core = await up();
    await follow(core, { [B]: `${TEMPLATE_B}parameters: { sizee: big }\n` });
    await follow(await core.restart(), {});
    const again = await core.restart();
    await again.poll();
    await follow(again, { [TA]: template(['k']), ...files });
    expect(again.held('a')?.resources).toEqual(['s']);
    expect(again.calls('delete')).toEqual([]);
  });
});

describe('an instance renamed to an unread file', () => {
  it.each<[path: string, text: string]>([
    ['stacks/instances/c.yml', TEMPLATE_A],
    ['stacks/instances/.c.yaml', TEMPLATE_A],
    ['stacks/instances/c.ymal', TEMPLATE_A],
    ['stacks/instances/eu/c .yaml', TEMPLATE_A],
    ['stacks/instances/c.yaml', linkTo('elsewhere.yaml')],
    ['stacks/instances/eu', linkTo('elsewhere')],
    ['stacks/instances/README.md', 'a is gone\n'],
    ['attic/a.yaml', TEMPLATE_A],
    ['./a.yaml', TEMPLATE_A],
  ])('holds its servers: %s', async (path, text) => {
    const core = await up();
    await follow(core, { [A]: null, [path.replace('./', '')]: text });
    await core.pass(2 * 3_600_000);
    expect(core.calls('delete')).toEqual([]);
    expect(core.held('a')).toMatchObject({ resources: ['k', 's'] });
    expect(core.held('a')?.reason).toBe(
      `"${path}" is not read in the commit that takes these servers away, and may be what takes them over: rename it, or approve the deletes`,
    );
    expect(core.operator.problems().problems).toContainEqual(
      expect.objectContaining({
        code: 'unreadable_object',
        severity: 'error',
        file: A,
        instances: ['a'],
        message: expect.stringContaining(`"${path}" is not read`),
      }),
    );
  });
});

it.each([
  ['without a restart', async (core: Core) => core],
  ['after a restart', async (core: Core) => await core.restart()],
])('a pinned instance is compared with its active commit, %s', async (_when, later) => {
  const core = await up({ 'stacks/instances/README.md': '# a\n' });
  await follow(core, { [A]: `${TEMPLATE_A}x: [\n`, 'stacks/instances/c.yml': TEMPLATE_A });
  const then = await later(core);
  await then.poll();
  await follow(then, { [A]: null });
  expect(then.held('a')?.reason).toMatch(/^"stacks\/instances\/c.yml" is not read in the commit/);
});

it.each([
  ['its invalid newest version', `${TEMPLATE_A}x: [\n`],
  ['its active version', TEMPLATE_A],
])('a pinned instance is held if its file moves with %s', async (_what, text) => {
  const core = await up();
  await follow(core, { [A]: `${TEMPLATE_A}x: [\n` });
  await follow(core, { [A]: null, 'attic/a.yaml': text });
  expect(core.held('a')?.reason).toMatch(/^"attic\/a.yaml" is not read in the commit/);
  expect(core.calls('delete')).toEqual([]);
});

describe('an unread file below stacks/instances does not hold', () => {
  it.each<[what: string, files: Files]>([
    ['a name that is no instance', { 'stacks/instances/README.md': '# a\n', 'stacks/instances/.gitkeep': '' }],
    ['settings of an editor', { 'stacks/instances/.yamllint': 'extends: default\n' }],
    [
      'a backup next to a file that is read',
      { 'stacks/instances/b.yaml~': TEMPLATE_B, 'stacks/instances/.b.yaml.swp': '' },
    ],
    ['a file outside of the layout', { 'schemas/c.yml': TEMPLATE_B, 'ci/c.yaml': TEMPLATE_B }],
    ['another template', { 'stacks/templates/tc.yml': template(['x']) }],
  ])('%s', async (_what, files) => {
    const core = await up();
    await follow(core, { [TA]: template(['k']), ...files });
    expect(core.operator.held()).toEqual([]);
    expect(core.calls('delete')).toEqual(['s']);
  });
});
