// Approvals and what may come between them and their use: a restart, another commit, another approval.

import { describe, expect, it } from 'vitest';
import { SourceError } from '../../src/repository/source.ts';
import { Core } from './core.ts';

const TEMPLATE = `parameters: { count: "1" }
resources:
  s: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: {} } } }
`;

const SHOP = 'stacks/instances/shop.yaml';
const OTHER = 'stacks/instances/other.yaml';

function instance(count: number): string {
  return `stackTemplate: t\nparameters: { count: "${count}" }\n`;
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': TEMPLATE,
  [SHOP]: instance(3),
  [OTHER]: instance(1),
};

/** A desired state of which the removal of `shop` is held. */
async function held(): Promise<Core> {
  const core = await Core.following(FILES);
  await core.follow({ [SHOP]: null });
  expect(core.held('shop')?.resources).toHaveLength(3);
  return core;
}

/** Lets no file be read until the returned function is called. */
function slowReads(core: Core): () => Promise<void> {
  const snapshot = core.source.snapshot.bind(core.source);
  const read = Promise.withResolvers<void>();
  core.source.snapshot = async (...args) => {
    await read.promise;
    return await snapshot(...args);
  };
  return async () => {
    read.resolve();
    await core.settle();
  };
}

/** Lets no file be read until the returned function is called. */
function breakReads(core: Core): () => void {
  const snapshot = core.source.snapshot.bind(core.source);
  core.source.snapshot = () => Promise.reject(new SourceError('the local copy is damaged'));
  return () => {
    core.source.snapshot = snapshot;
  };
}

describe('an approval that was recorded before a restart and not judged', () => {
  it('is judged after the restart: the servers are deleted with their last records', async () => {
    const core = await held();
    const record = core.reader.record('shop-s-1');
    const mend = breakReads(core);
    await core.approve(core.held('shop')?.digest ?? '');
    const calls: unknown[] = [];
    const end = Promise.withResolvers<void>();
    core.provider.script = (call) => {
      if (call.operation !== 'delete') return undefined;
      calls.push(call.record);
      return end.promise.then(() => again.provider.act(call));
    };
    const again = await core.restart();
    expect(again.held('shop')).toBeDefined();
    mend();
    await again.poll();
    expect(again.reader.status('shop')).toBe('Marked for delete');
    expect(again.reader.instance('shop').body.stackTemplate).toBe('t');
    expect(calls).toHaveLength(3);
    expect(calls).toContainEqual(record);
    end.resolve();
    await again.settle();
    expect(Object.keys(again.states())).toEqual(['other-s-1']);
    expect(again.reader.instances().map(({ name }) => name)).toEqual(['other']);
    expect(again.ledger.list('approval').size).toBe(0);
    expect(again.ledger.list('removal').size).toBe(0);
  });
});

describe('an approval that comes while a commit is read', () => {
  it('counts for that commit if the same servers would be deleted', async () => {
    const core = await held();
    const read = slowReads(core);
    await core.follow({ 'types/role/web.yaml': 'port: "443"\n' });
    await core.approve(core.held('shop')?.digest ?? '');
    await read();
    expect(Object.keys(core.states())).toEqual(['other-s-1']);
    expect(core.operator.held()).toEqual([]);
    expect(core.ledger.list('approval').size).toBe(0);
  });

  it('does not count if other servers would be deleted, also later', async () => {
    const core = await held();
    const read = slowReads(core);
    await core.follow({ [SHOP]: instance(3) });
    await core.approve(core.held('shop')?.digest ?? '');
    await read();
    expect(core.operator.held()).toEqual([]);
    await core.follow({ [SHOP]: null });
    expect(core.held('shop')?.resources).toHaveLength(3);
    expect(core.calls('delete')).toEqual([]);
  });
});

describe('a hold that waits for an approval', () => {
  it('stays with a later commit that deletes fewer servers, and ends with an approval', async () => {
    const core = await held();
    await core.follow({ [SHOP]: instance(1) });
    expect(core.calls('delete')).toEqual([]);
    expect(core.held('shop')?.resources).toEqual(['shop-s-2', 'shop-s-3']);
    const again = await core.restart();
    await again.poll();
    expect(again.held('shop')?.resources).toEqual(['shop-s-2', 'shop-s-3']);
    await again.approve(again.held('shop')?.digest ?? '');
    expect(Object.keys(again.states())).toEqual(['other-s-1', 'shop-s-1']);
  });
});

describe('a rewritten history of a busy branch', () => {
  const PORT = 'types/role/web.yaml';

  /** A held history whose head is two commits beyond the one that a person has read. */
  async function busy(files: object = {}): Promise<{ core: Core; followed: string; read: string; newest: string }> {
    const core = new Core();
    const followed = core.source.commit(FILES);
    await core.poll();
    const read = core.source.commit({ ...FILES, [SHOP]: instance(2), ...files }, { parents: [] });
    await core.poll();
    core.source.commit({ [PORT]: 'port: "80"\n' });
    const newest = core.source.commit({ ...FILES, [PORT]: 'port: "443"\n' });
    await core.poll();
    expect(core.held(null)?.digest).toBe(`history-${newest}`);
    return { core, followed, read, newest };
  }

  it('is accepted at a commit with later commits, which are followed after it', async () => {
    const { core, read, newest } = await busy();
    await core.operator.acceptHistory(core.order, read);
    await core.settle();
    expect(core.reader.commit()).toBe(newest);
    expect(core.calls('delete')).toEqual([]);
    expect(core.operator.held()).toEqual([]);
    expect(core.ledger.list('approval').size).toBe(0);
  });

  it('is refused for a commit of the former history, and for a missing one', async () => {
    const { core, followed } = await busy();
    for (const commit of [followed, 'commit-9', 'HEAD'])
      await expect(core.operator.acceptHistory(core.order, commit)).rejects.toMatchObject({ code: 'not_found' });
    expect(core.ledger.list('approval').size).toBe(0);
  });
});
