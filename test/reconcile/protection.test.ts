// Tests which commits lift the protection of an instance: single ones, several at once, and merges.
import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';

const TEMPLATE = `parameters: { count: "1" }
resources:
  s: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: {} } } }
`;

const SHOP = 'stacks/instances/shop.yaml';

function shop(count: number, more = ''): Readonly<Record<string, string>> {
  return { [SHOP]: `stackTemplate: t\nparameters: { count: "${count}" }\n${more}` };
}

const PROTECTED = 'protected: true\n';
const LIFTED = 'protected: false\n';
const ON_TOP = { 'types/role/web.yaml': 'port: "443"\n' };
const NAMES = ['shop-s-1', 'shop-s-2', 'shop-s-3'];

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': TEMPLATE,
  'stacks/instances/other.yaml': 'stackTemplate: t\n',
};

/** A desired state whose `shop` has three servers and is protected from the second commit on; two servers may go without a yes. */
async function up(
  more = PROTECTED,
): Promise<{ readonly core: Core; readonly unprotected: string; readonly head: string }> {
  const core = new Core();
  const unprotected = core.source.commit({ ...FILES, ...shop(3) });
  await core.poll();
  const head = core.source.commit(shop(3, more));
  await core.poll();
  expect(Object.values(core.states())).toEqual(['done', 'done', 'done', 'done']);
  return { core, unprotected, head };
}

function expectRefused(core: Core): void {
  expect(core.calls('delete')).toEqual([]);
  expect(Object.keys(core.states())).toEqual(['other-s-1', ...NAMES]);
  const errors = core.operator.problems().problems.filter(({ severity }) => severity === 'error');
  expect(errors.map(({ code }) => code)).toEqual(['protected_instance']);
  expect(core.reader.status('shop')).toBe('Invalid');
}

describe('protection does not end', () => {
  it('by a merge of a branch that began before it was set', async () => {
    const { core, unprotected, head } = await up();
    const side = core.source.commit(ON_TOP, { parents: [unprotected] });
    const smaller = core.source.commit(shop(2), { parents: [side] });
    core.source.commit(shop(2, PROTECTED), { parents: [head, smaller] });
    await core.poll();
    expectRefused(core);
  });

  it('by a commit that also removes servers, with any later commit of the push', async () => {
    const { core } = await up();
    core.source.commit(shop(2, LIFTED));
    await core.follow(ON_TOP);
    expectRefused(core);
  });
});

describe('protection continues if the commit of the active version is lost', () => {
  it.each([
    ['and the newest version has fewer servers', { ...shop(2) }],
    ['and its file is removed', { [SHOP]: null }],
  ])('%s', async (_, files) => {
    const core = new Core({ budget: { percent: 0, least: 5, most: 5 } });
    const root = core.source.commit({ ...FILES, ...shop(3) });
    await core.poll();
    const head = core.source.commit(shop(3, PROTECTED));
    await core.poll();
    const rewritten = core.source.commit(files, { parents: [root] });
    await core.poll();
    await core.operator.acceptHistory(core.order, rewritten);
    await core.settle();
    expectRefused(core);
    core.source.forget(head);
    for (let again = core, starts = 0; starts < 2; starts += 1) {
      again = await again.restart();
      await again.poll();
      expectRefused(again);
    }
  });
});

describe('protection ends', () => {
  it('by a commit of the branch that removes nothing, also in one push with the next', async () => {
    const { core } = await up();
    core.source.commit(shop(3, LIFTED));
    core.source.commit(shop(2, LIFTED));
    await core.follow(shop(2, PROTECTED));
    expect(core.calls('delete')).toEqual(['shop-s-3']);
    expect(core.reader.status('shop')).toBe('Done');
  });

  it('permanently, although the deletes are held over a restart and other commits', async () => {
    const { core } = await up();
    core.source.commit(shop(3, LIFTED));
    await core.follow({ [SHOP]: null });
    expect(core.held('shop')?.resources).toEqual(NAMES);
    const again = await core.restart();
    expect(again.held('shop')?.resources).toEqual(NAMES);
    await again.follow(ON_TOP);
    expect(again.reader.status('shop')).toBe('Awaiting approval');
    await again.approve(again.held('shop')?.digest ?? '');
    expect(Object.keys(again.states())).toEqual(['other-s-1']);
  });
});
