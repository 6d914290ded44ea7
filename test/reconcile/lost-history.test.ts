// The local copy is lost, and the branch was rewritten meanwhile: the recorded head is nowhere any more.
import { describe, expect, it } from 'vitest';
import { Core } from './core.ts';

const TEMPLATE = `parameters: { count: "1", size: small }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { size: "<<size>>" } } }
`;
const SHOP = 'stacks/instances/shop.yaml';
const OTHER = 'stacks/instances/other.yaml';
const CLIENT = 'clients/A1.yaml';
const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  [CLIENT]: 'role: administrator\ndescription: Ada\n',
  'stacks/templates/t.yaml': TEMPLATE,
  [OTHER]: 'stackTemplate: t\n',
};

function shop(count: number, more = ''): Readonly<Record<string, string>> {
  return { [SHOP]: `stackTemplate: t\nparameters: { count: "${count}" }\n${more}` };
}

interface Lost {
  readonly core: Core;
  readonly followed: string;
  readonly rewritten: string;
}

/** Three servers of `shop` and one of `other` are done; then another history comes while the controller and its copy are away. */
async function lost(files: Readonly<Record<string, string | null>>, more = ''): Promise<Lost> {
  const before = new Core();
  const followed = before.source.commit({ ...FILES, ...shop(3, more) });
  await before.poll();
  expect(Object.values(before.states())).toEqual(['done', 'done', 'done', 'done']);
  await before.stop();
  const kept = { ...FILES, ...shop(3, more), ...files };
  const present = Object.entries(kept).flatMap(([path, text]) => (text === null ? [] : [[path, text]]));
  const rewritten = before.source.commit(Object.fromEntries(present), { parents: [] });
  before.source.loseCopy();
  return { core: await before.restart(), followed, rewritten };
}

async function accept({ core, rewritten }: Lost): Promise<void> {
  await core.operator.acceptHistory({ ...core.order, reason: 'the repository was made again' }, rewritten);
  await core.settle();
}

const NAMES = ['shop-s-1', 'shop-s-2', 'shop-s-3'];

describe('a rewritten history whose recorded head is lost', () => {
  it('is held, and nothing changes', async () => {
    const { core, followed, rewritten } = await lost({ [SHOP]: null });
    const reason =
      `the history was rewritten: ${rewritten} does not come after the followed commit ${followed}, ` +
      'which is not in the local copy any more; accepting it creates 0 servers, updates 0, retains 0 and, after another approval, deletes 3';
    expect(core.operator.held()).toEqual([
      {
        kind: 'history',
        digest: `history-${rewritten}`,
        instance: null,
        reason,
        since: expect.any(String),
        resources: NAMES,
        commit: rewritten,
        author: 'A Person',
        check: 'restore the branch',
      },
    ]);
    for (let poll = 0; poll < 3; poll += 1) await core.poll();
    expect(core.operator.held()).toHaveLength(1);
    const told = core.lines.map(({ msg }) => String(msg)).filter((text) => /local copy|not followed/.test(text));
    expect(told).toEqual([
      'the followed commit is not in the local copy; fetching it',
      'the commit is not followed; everything stays as it is',
    ]);
    expect(core.calls('delete')).toEqual([]);
    expect(Object.values(core.states())).toEqual(['done', 'done', 'done', 'done']);
    expect(core.follower.notReadyReason).toContain('the history was rewritten');
  });

  it('is followed after accept-history, and changes only differences', async () => {
    const scene = await lost(shop(2));
    await accept(scene);
    const { core, rewritten } = scene;
    expect(core.reader.commit()).toBe(rewritten);
    expect(core.operator.recovery(core.order.by)).toEqual({ recovery: null });
    expect(core.ledger.list('approval').size).toBe(0);
    expect(core.calls('delete')).toEqual([]);
    await core.approve(core.held('shop')?.digest ?? '');
    expect(core.calls('delete')).toEqual(['shop-s-3']);
    expect(core.calls('create')).toEqual([]);
    expect(core.reader.status('shop')).toBe('Done');
  });

  it('can be accepted on the host at a start', async () => {
    const { core, rewritten } = await lost({});
    const again = await core.restart({ acceptedHistory: rewritten });
    await again.poll();
    expect(again.reader.commit()).toBe(rewritten);
    expect(again.operator.recovery(again.order.by)).toEqual({ recovery: null });
    expect(again.reader.registered('A1')).toMatchObject({ role: 'administrator' });
  });
});

describe('an accepted history whose former one is lost', () => {
  it('deletes no more than the budget without another approval', async () => {
    const scene = await lost({ [SHOP]: null });
    await accept(scene);
    const { core } = scene;
    expect(core.calls('delete')).toEqual([]);
    expect(core.held('shop')).toMatchObject({ kind: 'unreadable', resources: NAMES });
    expect(core.reader.status('shop')).toBe('Awaiting approval');
    const again = await core.restart();
    expect(again.held('shop')).toMatchObject({ resources: NAMES });
    await again.approve(again.held('shop')?.digest ?? '');
    expect([...again.calls('delete')].sort()).toEqual(NAMES);
  });

  it('ignores trailers in it', async () => {
    const before = new Core();
    before.source.commit({ ...FILES, ...shop(3) });
    await before.poll();
    await before.stop();
    const message = 'Anew\n\nTreeline-Approve-Deletes: 10';
    const rewritten = before.source.commit(FILES, { parents: [], message });
    before.source.loseCopy();
    const core = await before.restart();
    await accept({ core, followed: '', rewritten });
    expect(core.calls('delete')).toEqual([]);
    expect(core.held('shop')).toMatchObject({ resources: NAMES });
  });

  it('keeps its invalid objects at their recorded versions', async () => {
    const scene = await lost({ [SHOP]: 'stackTemplate: misspelt\n' });
    await accept(scene);
    const { core } = scene;
    expect(core.reader.status('shop')).toBe('Invalid');
    expect(Object.keys(core.states())).toEqual(['other-s-1', ...NAMES]);
    expect(core.calls('delete')).toEqual([]);
    for (const read of [core.reader.record, core.reader.explainedRecord]) {
      expect(() => read('shop-s-1')).toThrow(/^The record of "shop-s-1" is not known: the commit .* is lost/);
    }
    expect(() => core.reader.value('shop-s-1', 'size')).toThrow(/is not known/);
    expect(() => core.reader.record('shop-s-9')).toThrow(/There is no node/);
    const again = await core.restart();
    expect(again.reader.status('shop')).toBe('Invalid');
    core.source.commit(shop(3));
    await again.poll();
    expect(again.reader.status('shop')).toBe('Done');
    expect(again.calls('create')).toEqual([]);
  });
});
