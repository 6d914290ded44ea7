// The core of a leader that cannot start: nothing of it goes on.
import { expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { startCore } from '../../src/compose/core.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { RETRY } from '../reconcile/build.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { TextSource } from '../support/text-source.ts';

class FullStore extends MemoryStore {
  override async commit(): Promise<void> {
    throw new StoreError('the disk is full');
  }
}

/** Starts a core with a store; `opened` ends it. */
function start(store: MemoryStore) {
  const clock = new ManualClock();
  const opened = new AsyncDisposableStack();
  const execution = {
    concurrency: 1,
    graceSeconds: 1,
    retry: RETRY,
    providers: [],
    deleteBudget: { percent: 0, least: 1, most: 1 },
    proxied: { name: 'proxied', concurrency: 1, retry: RETRY, timeoutSeconds: 1, checkSeconds: 1, drift: 'off' },
  } as const;
  const starting = startCore(
    {
      store,
      source: new TextSource(),
      clock,
      execution,
      opened,
      lostRows: 'the store was lost',
      publisher: { prepare: unused, push: unused },
      triggers: [],
      writes: 'off',
      random: () => 0,
      registry: createProviderRegistry([], unused, undefined),
      log: createLog('silent'),
    },
    1_000,
  );
  return { clock, opened, starting };
}

it.each([
  ['cannot record what it has to', new FullStore(), 'StoreError: the disk is full'],
  ['has started', new MemoryStore(), undefined],
])('startCore ends all parts of a core that %s', async (_case, store, failure) => {
  const { clock, opened, starting } = start(store);
  const failed = await starting.then(() => undefined, String);
  expect(failed).toBe(failure);
  expect(clock.pending).toBeGreaterThan(0);
  await opened.disposeAsync();
  expect(clock.pending).toBe(0);
});

function unused(): never {
  throw new Error('this is not used here');
}
