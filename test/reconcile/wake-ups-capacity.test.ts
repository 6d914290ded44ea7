// Capacity and slots that are given to a server while a pass over it is under way.
import { expect, it } from 'vitest';
import { Executor } from '../../src/execute/executor.ts';
import { createLog } from '../../src/log.ts';
import type { Wait } from '../../src/machine/wait.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { WakeUps } from '../../src/reconcile/wake-ups.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { runAtOnce } from '../support/run-at-once.ts';
import { ScriptedProvider } from '../support/scripted-provider.ts';
import { LARGE, rowIn, SMALL } from './build.ts';

const ENTRY = { name: 'lab', timeoutSeconds: 60, concurrency: 1, provider: new ScriptedProvider() };

/** Room for one call, and these servers. */
async function open(rows: Readonly<Record<string, ServerRow>>) {
  const clock = new ManualClock();
  const log = createLog('silent');
  const ledger = new Ledger(new MemoryStore(), runAtOnce);
  await ledger.commit(
    Object.entries(rows).map(([name, value]) => ({ kind: 'server', name, value, expected: undefined })),
  );
  const executor = new Executor({
    ...{
      concurrency: 1,
      graceMs: 0,
      clock,
      log,
      entryOf: () => ENTRY,
      recordOf: () => ({}),
      onResult: () => undefined,
    },
  });
  const woken: string[] = [];
  const wakeUps = new WakeUps({
    ledger,
    clock,
    log,
    capacity: executor.capacity,
    wake: (server) => woken.push(server),
  });
  return { ledger, executor, wakeUps, woken };
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
  expect([executor.capacity.hasCapacity('lab', 'x'), executor.capacity.hasCapacity('lab', 'y')]).toEqual([true, false]);
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
  const wait: Wait = { kind: 'slot', group: `${waiting.instance}/${waiting.key}`, isAway: false, until: undefined };
  for (const server of ['x', 'y']) {
    wakeUps.passing(server);
    wakeUps.begin(server, waiting, wait);
  }
  await ledger.commit([{ kind: 'server', name: 'z', value: { ...away, dirty: false }, expected: away }]);
  for (const server of ['x', 'y']) wakeUps.passed(server);
  expect(woken).toEqual(['x']);
  expect([wakeUps.groups.of('x', waiting).away, wakeUps.groups.of('y', waiting).away]).toEqual([0, 1]);
});
