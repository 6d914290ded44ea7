// Adds to a row that several stores change at the same time.
import type { Store } from '../../src/store/store.ts';
import { writeText } from './rows.ts';

const TRIES_MAX = 10_000;

/** Adds one to the row `sum`, and one event to the instance `shop`, so many times, whoever else does. */
export async function addOnes(store: Store, count: number): Promise<void> {
  let added = 0;
  for (let tries = 0; added < count && tries < TRIES_MAX; tries++) {
    const before = store.read('node', 'sum');
    const event = {
      ...{ instance: 'shop', time: '2026-11-20T10:13:56.000Z', resource: null, from: null, to: 'pending' },
      ...{ reason: `${process.pid}`, commit: null, client: null },
    } as const;
    try {
      await store.commit([writeText('sum', String(Number(before?.oid ?? 0) + 1), before)], [event]);
      added += 1;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'conflict')) throw error;
    }
  }
  if (added < count) throw new Error(`added only ${added} of ${count}`);
}
