import { expect, it } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { type ClockStep, ClockWatch } from '../../src/reconcile/clock-watch.ts';
import { ManualClock } from '../support/manual-clock.ts';

const HOUR = 3_600_000;

function open(correct: (step: ClockStep) => Promise<void> = async () => undefined) {
  const clock = new ManualClock();
  const noticed: string[] = [];
  const log = createLog('error', { write: () => undefined });
  const watch = new ClockWatch({
    ...{ clock, log },
    correct: async (step) => {
      await correct(step);
      noticed.push(step.byMs < 0 ? `back ${-step.byMs}` : `forward ${step.byMs}`);
    },
  });

  /** Sets the clock by so much, and lets some time pass. */
  async function set(byMs: number): Promise<void> {
    clock.setWall(clock.now() + byMs);
    clock.advance(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }

  return { clock, watch, noticed, set };
}

it.each([
  ['nothing where no clock is set', 0, []],
  ['nothing where NTP corrects it a little', 900, []],
  ['nothing where NTP corrects it a little the other way', -900, []],
  ['a step back', -HOUR, [`back ${HOUR}`]],
  ['a step forward', HOUR, [`forward ${HOUR}`]],
])('notices %s, once', async (_case, byMs, expected) => {
  const { set, noticed } = open();
  await set(0);
  await set(byMs);
  await set(0);
  expect(noticed).toEqual(expected);
});

it('says since when the clock may have been set, also where the correction is tried again', async () => {
  const since: number[] = [];
  const { clock, set } = open(async (step) => {
    since.push(step.since);
    if (since.length === 1) throw new Error('the disk is full');
  });
  await set(0);
  const before = clock.monotonic();
  await set(-HOUR);
  await set(0);
  expect(since).toEqual([before, before]);
});

it('corrects at the next comparison what could not be corrected, and then what came since', async () => {
  let failures = 1;
  const { set, noticed } = open(async () => {
    failures -= 1;
    if (failures >= 0) throw new Error('disk full');
  });
  await set(-HOUR);
  expect(noticed).toEqual([]);
  await set(-HOUR);
  expect(noticed).toEqual([`back ${HOUR}`]);
  await set(0);
  expect(noticed).toEqual([`back ${HOUR}`, `back ${HOUR}`]);
});

it('compares no more once it is stopped', async () => {
  const { set, noticed, watch, clock } = open();
  watch.stop();
  await set(-HOUR);
  expect([noticed, clock.pending]).toEqual([[], 0]);
});
