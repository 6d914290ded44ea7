// Healing that fails on one server after the other: it stops as a rollout does.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { shopFiles } from './shop.ts';

const CHECK_MS = 300_000;
const COUNT = 20;

/** Returns a core with servers that all differ, and whose updates fail; two calls at once. */
async function failing(): Promise<Core> {
  const core = new Core({ drift: 'heal', concurrency: 2, retry: { attempts: 1, failedSeconds: 86_400 } });
  const names = Array.from({ length: COUNT }, (_, index) => `w${index}`);
  core.source.commit(shopFiles(Object.fromEntries(names.map((name) => [name, 'size: small']))));
  await core.poll();
  const [call] = core.provider.calls;
  if (call === undefined) throw new Error('nothing was called yet');
  for (const resource of Object.keys(core.states())) {
    core.provider.act({ ...call, operation: 'update', resource, properties: { size: 'odd' } });
  }
  core.provider.script = ({ operation }) => (operation === 'update' ? Promise.resolve(answerOf('failed')) : undefined);
  for (let round = 0; round < 4; round += 1) await core.pass(CHECK_MS);
  return core;
}

describe('healing', () => {
  it('stops when three updates have failed, and says so', async () => {
    const core = await failing();
    expect(core.calls('update').length).toBeLessThan(6);
    const [held] = core.operator.held();
    expect(held?.kind).toBe('failures');
    expect(held?.reason).toMatch(/^\d updates of commit commit-1 have failed, so the rest waits$/);
  });

  it('goes on when a person approves it, also after commits that change nothing of it', async () => {
    const core = await failing();
    core.source.commit({ 'README.md': 'words\n' });
    await core.poll();
    const [held] = core.operator.held();
    core.provider.script = () => undefined;
    await core.approve(held?.digest ?? '');
    core.source.commit({ 'README.md': 'more words\n' });
    await core.poll();
    for (let round = 0; round < 2; round += 1) await core.pass(CHECK_MS);
    const states = Object.values(core.states());
    expect(states.filter((state) => state === 'done').length).toBeGreaterThan(COUNT - 6);
    expect(states.filter((state) => state !== 'done' && state !== 'failed')).toEqual([]);
  });
});
