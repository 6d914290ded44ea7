import { expect, it } from 'vitest';
import type { Change, ServerRow } from '../../src/model/rows.ts';
import { stampCorrections } from '../../src/reconcile/stamp-corrections.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { at, NOW, rowIn, running, SMALL } from './build.ts';

const HOUR = 3_600_000;
const AHEAD = { now: NOW, byMs: -10 * HOUR, sinceMs: 1_000, waitMsMax: HOUR };
const START = { ...AHEAD, byMs: 0 };

async function storeWith(changes: readonly Omit<Change, 'expected'>[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.commit(changes.map((change) => ({ ...change, expected: undefined }) as Change));
  return store;
}

async function corrected(row: ServerRow, correction = AHEAD): Promise<Partial<ServerRow> | undefined> {
  const store = await storeWith([{ kind: 'server', name: 'web', value: row }]);
  const [change] = stampCorrections(store, correction);
  return change === undefined ? undefined : (change.value as ServerRow);
}

it.each([
  ['keeps what it had left', NOW + 10 * HOUR + 1_000, AHEAD, NOW + 1_000],
  ['ends where it was over by then', NOW + 9 * HOUR, AHEAD, NOW - HOUR],
  ['is at most the longest, where nobody knows how long it had left', NOW + 10 * HOUR, START, NOW + HOUR],
])('a wait %s', async (_case, due, correction, expected) => {
  expect(await corrected(rowIn('failed', { due: at(due) }), correction)).toMatchObject({ due: at(expected) });
});

it.each([
  ['set back', AHEAD],
  ['found wrong at a start', START],
])('a running action keeps what it had left, the clock being %s', async (_case, correction) => {
  const action = { ...running('create', SMALL), started: at(NOW + 10 * HOUR), deadline: at(NOW + 10 * HOUR + 60_000) };
  const after = await corrected(rowIn('creating', { action, since: at(NOW + 10 * HOUR) }), correction);
  expect(after).toMatchObject({ action: { started: at(NOW), deadline: at(NOW + 60_000) }, since: at(NOW) });
});

it.each([
  ['may have begun after the clock was set keeps its deadline', NOW - 1_000, undefined],
  ['began before gets the time that it had left', NOW - 1_001, NOW - 1_001 - 10 * HOUR],
])('an action that %s', async (_case, began, expected) => {
  const action = { ...running('create', SMALL), started: at(began), deadline: at(NOW + 60_000) };
  const after = await corrected(rowIn('creating', { action }));
  expect(after?.action?.started).toBe(expected === undefined ? undefined : at(expected));
});

it('heals happened now at the latest', async () => {
  const healing = { size: [at(NOW - HOUR), at(NOW + HOUR)], zone: [at(NOW)] };
  const after = await corrected(rowIn('done', { healing }), START);
  expect(after?.healing).toEqual({ size: [at(NOW - HOUR), at(NOW)], zone: [at(NOW)] });
  expect(await corrected(rowIn('done', { healing: { size: [at(NOW)] } }), START)).toBeUndefined();
});

it('what counts for some time counts as long after a step forward', async () => {
  const step = { ...START, byMs: 10 * HOUR };
  const healing = { size: [at(NOW - 11 * HOUR), at(NOW)] };
  expect((await corrected(rowIn('done', { healing }), step))?.healing).toEqual({ size: [at(NOW - HOUR), at(NOW)] });
  const store = await storeWith([{ kind: 'removal', name: 'web/1', value: { time: at(NOW - 11 * HOUR) } }]);
  expect(stampCorrections(store, step)).toMatchObject([{ kind: 'removal', value: { time: at(NOW - HOUR) } }]);
  const recovery = {
    id: 'r1',
    cause: 'store',
    reason: '',
    since: at(NOW - 11 * HOUR),
    notBefore: at(NOW - 9 * HOUR),
  } as const;
  const begun = await storeWith([{ kind: 'recovery', name: 'recovery', value: recovery }]);
  const since = { since: at(NOW - HOUR), notBefore: at(NOW + HOUR) };
  expect(stampCorrections(begun, step)).toMatchObject([{ value: { ...recovery, ...since } }]);
  expect(await corrected(rowIn('failed', { since: at(NOW - HOUR), due: at(NOW + HOUR) }), step)).toBeUndefined();
});

it('what lies in the past stays', async () => {
  const row = rowIn('failed', { since: at(NOW - 1), due: at(NOW) });
  expect(await corrected(row)).toBeUndefined();
  expect(await corrected(rowIn('creating', { action: running('create', SMALL) }), START)).toBeUndefined();
});

it('holds, approvals, deletes and suspensions happened now at the latest; a suspension ends when it was to end', async () => {
  const time = at(NOW + HOUR);
  const store = await storeWith([
    { kind: 'held', name: 'shop', value: { digest: 'd', servers: [], reason: '', since: time } },
    { kind: 'approval', name: 'd', value: { what: 'deletes', by: null, reason: '', time } },
    { kind: 'removal', name: 'web/1', value: { time } },
    { kind: 'suspension', name: '*', value: { by: null, reason: '', since: time, until: time } },
  ] as readonly Omit<Change, 'expected'>[]);
  await store.commit(stampCorrections(store, START));
  expect(store.read('held', 'shop')?.since).toBe(at(NOW));
  expect(store.read('approval', 'd')?.time).toBe(at(NOW));
  expect(store.read('removal', 'web/1')?.time).toBe(at(NOW));
  expect(store.read('suspension', '*')).toMatchObject({ since: at(NOW), until: time });
  expect(stampCorrections(store, START)).toEqual([]);
});
