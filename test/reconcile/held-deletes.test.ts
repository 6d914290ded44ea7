// Deletes that are under way when a commit brings more: held with it, and let go with it. Deletes of an administrator,
// which hold nothing.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';

const TEMPLATE = `parameters: { count: "1" }
resources:
  s: { type: Platform::ResourceGroup, properties: { count: "<<count>>", resource_def: { properties: {} } } }
`;

function instance(count: number): string {
  return `stackTemplate: t\nparameters: { count: "${count}" }\n`;
}

const FILES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/t.yaml': TEMPLATE,
  'stacks/instances/a.yaml': instance(3),
  'stacks/instances/b.yaml': instance(3),
};

/** A desired state of which `a` is to lose a server, but the provider cannot delete. */
async function stuck(): Promise<Core> {
  const core = await Core.following(FILES, { retry: { attempts: 1, failedSeconds: 60 } });
  core.provider.script = ({ operation }) =>
    operation === 'delete' ? Promise.resolve(answerOf('failed', { message: 'busy' })) : undefined;
  await core.follow({ 'stacks/instances/a.yaml': instance(2) });
  expect(core.states()).toMatchObject({ 'a-s-3': 'failed', 'a-s-2': 'done' });
  return core;
}

describe('a delete under way', () => {
  it('counts with those of a later commit, and is held with them', async () => {
    const core = await stuck();
    await core.follow({ 'stacks/instances/b.yaml': instance(1) });
    expect(core.operator.held().map(({ instance, resources }) => [instance, resources])).toEqual([
      ['a', ['a-s-3']],
      ['b', ['b-s-2', 'b-s-3']],
    ]);
    core.provider.script = () => undefined;
    const calls = core.calls('delete').length;
    await core.pass(3_600_000);
    expect(core.calls('delete')).toHaveLength(calls);
    await core.approve(core.held('b')?.digest ?? '');
    expect(core.states()).toEqual({ 'a-s-1': 'done', 'a-s-2': 'done', 'a-s-3': expect.anything(), 'b-s-1': 'done' });
    expect(core.held('a')).toBeDefined();
    await core.approve(core.held('a')?.digest ?? '');
    await core.pass(60_000);
    expect(core.states()).toEqual({ 'a-s-1': 'done', 'a-s-2': 'done', 'b-s-1': 'done' });
    expect(core.ledger.list('removal').size).toBe(0);
  });
});

describe('while the newest commit is not followed', () => {
  it('an approval for the followed commit counts, and the newest commit stays held', async () => {
    const core = await Core.following(FILES);
    const followed = core.source.commit({ 'stacks/instances/a.yaml': null });
    await core.poll();
    const rewritten = core.source.commit(FILES, { parents: [] });
    await core.poll();
    const history = core.held(null);
    expect(history).toMatchObject({ kind: 'history', digest: `history-${rewritten}` });
    core.clock.advance(5_000);
    await core.approve(core.held('a')?.digest ?? '');
    expect(Object.keys(core.states())).toEqual(['b-s-1', 'b-s-2', 'b-s-3']);
    expect(core.held(null)).toEqual(history);
    expect(core.reader.commit()).toBe(followed);
    core.source.reset(followed);
    await core.poll();
    expect(core.operator.held()).toEqual([]);
  });
});

describe('a delete of an administrator', () => {
  const A = 'stacks/instances/a.yaml';

  it('does not use up the budget', async () => {
    const core = await Core.following({ ...FILES, 'stacks/instances/b.yaml': instance(2) });
    await core.pushDelete('b');
    await core.poll();
    await core.follow({ [A]: instance(2) });
    expect(core.operator.held()).toEqual([]);
    expect(core.states()).toEqual({ 'a-s-1': 'done', 'a-s-2': 'done' });
    expect([core.ledger.list('removal').size, core.ledger.list('approval').size]).toEqual([1, 0]);
  });

  it('does not hold deletes of another instance in the same push', async () => {
    const core = await Core.following(FILES);
    await core.pushDelete('b');
    await core.follow({ [A]: instance(2) });
    expect(core.operator.held()).toEqual([]);
    expect(core.states()).toEqual({ 'a-s-1': 'done', 'a-s-2': 'done' });
  });

  it('does not stop another delete under way, nor a later push', async () => {
    const core = await stuck();
    await core.pushDelete('b');
    await core.poll();
    expect(core.operator.held()).toEqual([]);
    core.provider.script = () => undefined;
    await core.pass(60_000);
    expect(core.states()).toEqual({ 'a-s-1': 'done', 'a-s-2': 'done' });
    await core.follow({ [A]: instance(3) });
    expect(core.operator.held()).toEqual([]);
    expect(core.states()).toEqual({ 'a-s-1': 'done', 'a-s-2': 'done', 'a-s-3': 'done' });
  });

  it('stays approved if the process ends between the push and the poll', async () => {
    const core = await Core.following(FILES);
    await core.pushDelete('b');
    const again = await core.restart();
    await again.poll();
    expect(again.operator.held()).toEqual([]);
    expect(Object.keys(again.states())).toEqual(['a-s-1', 'a-s-2', 'a-s-3']);
    expect(again.ledger.list('approval').size).toBe(0);
  });
});
