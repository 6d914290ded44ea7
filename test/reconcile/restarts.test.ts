// A controller that is started again and again: what waits for its next try goes on to wait for it.
import { expect, it, vi } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { SHOP, shopFiles } from './shop.ts';

const RETRY = { attempts: 2, firstSeconds: 10, maxSeconds: 10, failedSeconds: 300 };

async function failing(): Promise<Core> {
  const core = new Core({ retry: RETRY });
  core.provider.script = ({ operation }) =>
    operation === 'create' ? Promise.resolve(answerOf('retryable')) : undefined;
  await core.follow(shopFiles({ web: 'size: small' }));
  return core;
}

it('a failed server is not retried by a start', async () => {
  let core = await failing();
  const creates = core.calls('create').length;
  expect(core.states()).toEqual({ 'shop-web': 'retrying' });
  const { due, attempt } = core.ledger.server('shop-web') ?? {};
  for (let starts = 0; starts < 5; starts += 1) {
    core = await core.restart();
    expect(core.calls('create')).toEqual([]);
    expect(core.ledger.server('shop-web')).toMatchObject({ state: 'retrying', due, attempt });
  }
  await core.pass(10_000);
  expect(core.calls('create')).toHaveLength(creates);
});

it('a commit pushed while the controller was down is applied at the start', async () => {
  const core = await failing();
  await core.stop();
  core.source.commit({ [SHOP]: 'stackTemplate: t\ndescription: corrected\n' });
  const again = await core.restart();
  expect(again.calls('create')).toEqual(['shop-web']);
});

it('a start reads the followed commit once, and one more for each older active version', async () => {
  const core = new Core();
  const first = core.source.commit(shopFiles({ web: 'size: small' }));
  await core.poll();
  const reads = vi.spyOn(core.source, 'snapshot');
  const readCommits = (): readonly string[] => reads.mock.calls.map(([commit]) => commit);
  await core.restart();
  expect(readCommits()).toEqual([first]);
  const wrong = core.source.commit({ [SHOP]: 'stackTemplate: gone\n' });
  const pinning = await core.restart();
  expect(pinning.reader.status('shop')).toBe('Invalid');
  reads.mockClear();
  await pinning.restart();
  expect(readCommits()).toEqual([wrong, first]);
});
