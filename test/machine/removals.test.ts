import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import {
  openRemovals,
  REMOVAL_MS,
  recentRemovals,
  removalsMax,
  removalsUnderWay,
  serverCount,
} from '../../src/machine/removals.ts';
import type { Change, ServerRow } from '../../src/model/rows.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { at, NOW, rowIn, running, SMALL } from '../reconcile/build.ts';
import { MemoryStore } from '../support/memory-store.ts';

const BUDGET = { percent: 10, least: 5, most: 20 };

it.each([
  [0, 5],
  [50, 5],
  [59, 5],
  [60, 6],
  [69, 6],
  [199, 19],
  [200, 20],
  [10_000, 20],
])('of %d servers, %d may be deleted without approval', (servers, count) => {
  expect(removalsMax(BUDGET, servers)).toBe(count);
});

it('the upper bound wins over the lower one, and may be 0', () => {
  expect(removalsMax({ percent: 10, least: 9, most: 3 }, 50)).toBe(3);
  expect(removalsMax({ percent: 0, least: 0, most: 20 }, 1_000)).toBe(0);
});

describe('the default lower bound', () => {
  const unset = { percent: 10, least: null, most: 20 };

  it.each([
    [0, 1],
    [1, 1],
    [3, 1],
    [6, 2],
    [9, 3],
    [14, 4],
    [15, 5],
    [50, 5],
    [60, 6],
    [10_000, 20],
  ])('lets %d servers lose %d without approval: at most a third of a small desired state', (servers, count) => {
    expect(removalsMax(unset, servers)).toBe(count);
  });

  it('does not exceed the upper bound', () => {
    expect(removalsMax({ ...unset, most: 0 }, 9)).toBe(0);
  });
});

describe('the servers for the percentage of the budget', () => {
  it('are the existing ones and those deleted within the hour', async () => {
    const rows = { 'web-1': rowIn('done', { applied: SMALL }), 'web-2': rowIn('done', { applied: SMALL }) };
    expect(serverCount(await ledgerOf(rows, [60_000, 120_000, REMOVAL_MS]), NOW)).toBe(4);
  });

  it('do not include servers that are only wanted, except replacements', async () => {
    const rows = {
      new: rowIn('pending', { provider: null }),
      failed: rowIn('retrying'),
      'exists already': rowIn('blocked', { provider: null }),
      creating: rowIn('creating', { action: running('create', SMALL) }),
      'gone-0': rowIn('pending', { replacing: true }),
    };
    expect(serverCount(await ledgerOf(rows, [60_000]), NOW)).toBe(2);
  });

  it('count once, also after a replacement', async () => {
    const ledger = await ledgerOf({ 'gone-0': rowIn('done', { applied: SMALL }) }, [60_000]);
    expect(serverCount(ledger, NOW)).toBe(1);
  });
});

/** A ledger with these servers, and deletes that happened that many milliseconds ago. */
async function ledgerOf(rows: Readonly<Record<string, ServerRow>>, deletedMsAgo: readonly number[] = []) {
  const ledger = new Ledger(new MemoryStore(), withoutPause);
  const servers = Object.entries(rows).map(
    ([name, value]): Change => ({ kind: 'server', name, value, expected: undefined }),
  );
  const removals = deletedMsAgo.map((ms, index): Change => {
    return { kind: 'removal', name: `gone-${index}/1`, value: { time: at(NOW - ms) }, expected: undefined };
  });
  await ledger.commit([...servers, ...removals]);
  return ledger;
}

const terminating = rowIn('marked for delete', { wanted: null, applied: SMALL });
const replaced = rowIn('pending', { applied: SMALL, replacing: true, incarnation: 9 });

describe('removalsUnderWay', () => {
  it.each<[name: string, row: ServerRow, counts: boolean]>([
    ['a server that no commit wants', terminating, true],
    ['a server whose delete runs', { ...terminating, state: 'deleting' }, true],
    ['a server whose delete failed', { ...terminating, state: 'failed' }, true],
    ['a server that is replaced', replaced, true],
    ['a server that exists', rowIn('done', { applied: SMALL }), false],
    ['an approved delete', { ...terminating, approved: true }, false],
    ['a replacement that was approved', { ...replaced, approved: true }, false],
    ['a server that was deleted and is created again', rowIn('pending', { applied: null, replacing: true }), false],
    ['a server that no provider was asked to create', { ...terminating, provider: null }, false],
    ['a retained server', { ...terminating, policy: { ...terminating.policy, deletion: 'retain' } }, false],
  ])('includes %s: %#', async (_name, row, counts) => {
    const ledger = await ledgerOf({ 'web-1': row, other: rowIn('done', { applied: SMALL, instance: 'other' }) });
    const removal = { server: 'web-1', incarnation: row.incarnation };
    expect([...removalsUnderWay(ledger)]).toEqual(counts ? [['shop', [removal]]] : []);
  });
});

it('openRemovals counts deletes of the last hour to the millisecond, and those under way', async () => {
  const ledger = await ledgerOf({ a: terminating, b: replaced }, [0, REMOVAL_MS - 1, REMOVAL_MS, REMOVAL_MS * 2]);
  expect([...recentRemovals(ledger, NOW)]).toEqual(['gone-0/1', 'gone-1/1']);
  expect(openRemovals(ledger, NOW)).toBe(4);
  expect(openRemovals(ledger, NOW + REMOVAL_MS)).toBe(2);
});

it('openRemovals counts a delete that has begun once, and one of an earlier incarnation', async () => {
  const ledger = await ledgerOf({ a: terminating, b: replaced });
  const names = ['a/7', 'b/8', 'b/9', 'c/1'];
  const value = { time: at(NOW) };
  await ledger.commit(names.map((name) => ({ kind: 'removal', name, value, expected: undefined })));
  expect(openRemovals(ledger, NOW)).toBe(4);
});
