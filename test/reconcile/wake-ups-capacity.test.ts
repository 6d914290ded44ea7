// Capacity and slots that are given to a server while a pass over it is under way.
import { describe, expect, it } from 'vitest';
import { withoutPause } from '../../src/base/breathe.ts';
import { createLog } from '../../src/base/log.ts';
import type { Wait } from '../../src/machine/wait.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { Executor } from '../../src/reconcile/calls/executor.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { WakeUps } from '../../src/reconcile/waits/wake-ups.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { ScriptedProvider, untilAborted } from '../support/scripted-provider.ts';
import { LARGE, rowIn, SMALL } from './build.ts';

/** Capacity for one call, or more, and these servers. */
async function open(rows: Readonly<Record<string, ServerRow>>, concurrency = 1) {
  const provider = new ScriptedProvider();
  provider.script = (_, signal) => untilAborted(signal);
  const entry = { timeoutSeconds: 60, concurrency, provider };
  const clock = new ManualClock();
  const log = createLog('silent');
  const ledger = new Ledger(new MemoryStore(), withoutPause);
  await ledger.commit(
    Object.entries(rows).map(([name, value]) => ({ kind: 'server', name, value, expected: undefined })),
  );
  const executor = new Executor({
    ...{
      concurrency: 2 * concurrency,
      graceMs: 0,
      clock,
      log,
      entryOf: (name) => ({ ...entry, name }),
      recordOf: () => ({}),
      onResult: (server, result) => ended.push(`${server} ${result?.answer.outcome}`),
    },
  });
  const woken: string[] = [];
  const ended: string[] = [];
  const wakeUps = new WakeUps({
    ledger,
    clock,
    log,
    capacity: executor.capacity,
    wake: (server) => woken.push(server),
  });
  /** Runs a pass that begins a check if there is capacity, and else waits for it; and what it waits for has its turn. */
  function check(server: string, isRoutine: boolean, entryName = 'lab'): boolean {
    const row = ledger.server(server) ?? null;
    wakeUps.passing(server);
    const begins = wakeUps.hasCapacity(server, entryName, isRoutine);
    const wait = { kind: 'capacity', provider: entryName, instance: row?.instance ?? '' } as const;
    if (begins) executor.capacity.claim(server, entryName, { isRoutine });
    else if (!isRoutine) executor.endCheckFor(entryName);
    wakeUps.begin(server, row, begins ? undefined : { ...wait, ...(isRoutine ? { isRoutine } : {}) });
    if (begins && row !== null) executor.check(server, row, entryName);
    wakeUps.passed(server);
    return begins;
  }
  return { ledger, executor, wakeUps, woken, ended, check };
}

it('is kept for the pass that follows: two that pass together do not take it from each other for ever', async () => {
  const row = rowIn('pending');
  const { executor, wakeUps, woken } = await open({ x: row, y: row, z: row });
  const wait: Wait = { kind: 'capacity', provider: 'lab', instance: row.instance };
  executor.capacity.claim('z', 'lab');
  for (const server of ['x', 'y']) {
    wakeUps.passing(server);
    wakeUps.begin(server, row, wait);
  }
  executor.capacity.unclaim('z');
  wakeUps.called('z');
  for (const server of ['x', 'y']) wakeUps.passed(server);
  expect(woken).toEqual(['x']);
  expect([
    executor.capacity.hasCapacity('lab', { server: 'x' }),
    executor.capacity.hasCapacity('lab', { server: 'y' }),
  ]).toEqual([true, false]);
  // The next pass does not need it after all.
  wakeUps.passing('x');
  wakeUps.begin('x', row, undefined);
  wakeUps.passed('x');
  expect(woken).toEqual(['x', 'y']);
});

it('of a slot likewise', async () => {
  const waiting = rowIn('pending', { applied: SMALL, wanted: LARGE });
  const away = { ...waiting, dirty: true };
  const { ledger, wakeUps, woken } = await open({ x: waiting, y: waiting, z: away });
  const wait: Wait = { kind: 'slot', group: `${waiting.instance}/${waiting.key}`, until: undefined };
  for (const server of ['x', 'y']) {
    wakeUps.passing(server);
    wakeUps.begin(server, waiting, wait);
  }
  await ledger.commit([{ kind: 'server', name: 'z', value: { ...away, dirty: false }, expected: away }]);
  for (const server of ['x', 'y']) wakeUps.passed(server);
  expect(woken).toEqual(['x']);
  expect([wakeUps.slots.groupViewOf('x', waiting).away, wakeUps.slots.groupViewOf('y', waiting).away]).toEqual([0, 1]);
});

const REST = rowIn('done', { applied: SMALL });

describe('routine checks', () => {
  const servers = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f', 'x', 'y'].map((name) => [name, REST]));

  it('take half of the capacity of an entry, and of all', async () => {
    const { executor, check, woken, wakeUps } = await open(servers, 4);
    expect(['a', 'b', 'c'].map((name) => check(name, true))).toEqual([true, true, false]);
    expect(['d', 'e', 'f'].map((name) => check(name, true, 'office'))).toEqual([true, true, false]);
    expect(check('x', true, 'third')).toBe(false);
    expect(['x', 'y'].map((name) => check(name, false))).toEqual([true, true]);
    executor.capacity.unclaim('a');
    wakeUps.called('a');
    expect(woken).toEqual(['c']);
  });

  it('come after the actions that wait, in whatever order they began to wait', async () => {
    const { executor, check, woken, wakeUps } = await open(servers);
    executor.capacity.claim('a', 'lab');
    expect([check('b', true), check('x', false)]).toEqual([false, false]);
    executor.capacity.unclaim('a');
    wakeUps.called('a');
    expect(woken).toEqual(['x']);
    expect(check('x', false)).toBe(true);
    executor.capacity.unclaim('x');
    wakeUps.called('x');
    expect(woken).toEqual(['x', 'b']);
  });

  it('give what is reserved for them to an action that has begun to wait', async () => {
    const { executor, check, woken, wakeUps } = await open(servers);
    executor.capacity.claim('a', 'lab');
    check('b', true);
    executor.capacity.unclaim('a');
    wakeUps.called('a');
    expect(woken).toEqual(['b']);
    expect([check('x', false), check('b', true)]).toEqual([false, false]);
    expect(woken).toEqual(['b', 'x']);
    expect([check('x', false), check('b', true)]).toEqual([true, false]);
  });

  it('end where an action waits for what they take, one for each', async () => {
    const { check, ended, executor } = await open(servers, 2);
    expect([check('a', true), check('b', true, 'office'), check('c', false), check('d', false)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    await new Promise((resolve) => setImmediate(resolve));
    expect([ended, executor.capacity.isInFlight('b')]).toEqual([['a undefined'], true]);
  });

  it('of another entry go on where its own limit is what the action waits for', async () => {
    const { check, ended, executor } = await open(servers, 1);
    executor.capacity.claim('a', 'lab');
    expect([check('b', true, 'office'), check('x', false)]).toEqual([true, false]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toEqual([]);
  });
});
