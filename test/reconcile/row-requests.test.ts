// Tests what an approval covers: exactly the servers that a delete of the instance takes away now.

import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { deletesDigest } from '../../src/machine/hold-digests.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { CommitGate } from '../../src/reconcile/commit-gate.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { RowRequests } from '../../src/reconcile/row-requests.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { NOW, rowIn, SMALL } from './build.ts';

const BY = { by: 'A1', reason: '' };
const HELD = { digest: 'd1', kind: 'deletes', instance: 'shop' } as const;

type Rows = Readonly<Record<string, Partial<ServerRow>>>;

/** Returns a ledger with rows of the instance `shop`, where they do not say otherwise. */
async function ledgerWith(rows: Rows): Promise<Ledger> {
  const ledger = new Ledger(new MemoryStore(), withoutPause);
  for (const [name, fields] of Object.entries(rows)) {
    const value = rowIn('done', { instance: 'shop', wanted: SMALL, applied: SMALL, ...fields });
    await ledger.commit([{ kind: 'server', name, value, expected: undefined }]);
  }
  return ledger;
}

function approve(ledger: Ledger): Promise<() => Promise<void>> {
  const clock = new ManualClock(NOW);
  const nothing = { reconciler: { enqueue: () => undefined }, reviews: { request: () => undefined } };
  const requests = new RowRequests({ ledger, clock, gate: new CommitGate(), ...nothing });
  return requests.approveDeletes('shop', { by: 'A1', refusal: () => undefined });
}

// Each waits for its turn at the store, and is asked for its rights then.
describe('a client that loses its rights during another store commit', () => {
  const gone = new Error('not registered any more');

  it.each<[string, (requests: RowRequests, refusal: () => Error | undefined) => Promise<unknown>]>([
    ['approves nothing', (requests, refusal) => requests.approve(() => HELD, { ...BY, refusal })],
    ['suspends nothing', (requests, refusal) => requests.suspend('shop', { ...BY, refusal, until: null })],
    ['resumes nothing', (requests, refusal) => requests.resume('shop', { ...BY, refusal })],
    [
      'changes no server',
      (requests, refusal) =>
        requests.change(['a'], { ...BY, refusal, operation: 'retry', change: (row) => ({ ...row }) }),
    ],
  ])('%s', async (_name, ask) => {
    const { ledger, gate, requests } = await open();
    const first = Promise.withResolvers<void>();
    const busy = gate.exclusive(() => first.promise);
    let refusal: Error | undefined;
    const asked = ask(requests, () => refusal);
    const before = [...ledger.list('approval'), ...ledger.list('suspension'), ...ledger.list('server')];
    refusal = gone;
    first.resolve();
    await busy;
    await expect(asked).rejects.toBe(gone);
    expect([...ledger.list('approval'), ...ledger.list('suspension'), ...ledger.list('server')]).toEqual(before);
  });

  it('approves no deletes, and does not fail other writes of the push', async () => {
    const { ledger, requests } = await open();
    const takeBack = await requests.approveDeletes('shop', { by: 'A1', refusal: () => gone });
    expect(ledger.list('approval').size).toBe(0);
    await takeBack();
  });
});

async function open() {
  const ledger = await ledgerWith({ a: {} });
  const gate = new CommitGate();
  const nothing = { reconciler: { enqueue: () => undefined }, reviews: { request: () => undefined } };
  return { ledger, gate, requests: new RowRequests({ ledger, gate, clock: new ManualClock(NOW), ...nothing }) };
}

function digest(...servers: readonly string[]): string {
  return deletesDigest(servers.map((server) => ({ server, incarnation: 7 })));
}

const CASES: Readonly<Record<string, readonly [Rows, ...string[]]>> = {
  'all servers of the instance and no others': [{ a: {}, b: {}, x: { instance: 'office' } }, 'a', 'b'],
  'also a server that is being deleted': [{ a: {}, b: { wanted: null } }, 'a', 'b'],
  'no server whose delete is approved': [{ a: {}, b: { wanted: null, approved: true } }, 'a'],
  'a server that is being replaced, once': [{ a: { replacing: true }, b: {} }, 'a', 'b'],
  'no retained server': [{ a: {}, b: { policy: { ...rowIn('done').policy, deletion: 'retain' } } }, 'a'],
};

describe("the approval of an instance's deletes covers", () => {
  it.each(Object.entries(CASES))('%s', async (_, [rows, ...servers]) => {
    const ledger = await ledgerWith(rows);
    await approve(ledger);
    expect([...ledger.list('approval').keys()]).toEqual([digest(...servers)]);
    expect([...ledger.list('approval').values()]).toMatchObject([{ what: 'requested delete', by: 'A1' }]);
  });
});
