import { expect, it } from 'vitest';
import { FreshChecks } from '../../src/reconcile/fresh-checks.ts';
import { ManualClock } from '../support/manual-clock.ts';

it('a check counts for 30 s, also where the wall clock is set back, and until an action begins', () => {
  const clock = new ManualClock();
  const checks = new FreshChecks(clock);
  checks.note('web', 'answered');
  checks.note('db', 'failed');
  clock.setWall(0);
  clock.advance(30_000);
  expect([checks.of('web'), checks.of('db'), checks.of('other')]).toEqual(['answered', 'failed', undefined]);
  clock.advance(1);
  expect(checks.of('web')).toBeUndefined();
  checks.note('web', 'answered');
  expect(checks.of('web')).toBe('answered');
  checks.forget('web');
  expect(checks.of('web')).toBeUndefined();
});

it('a check does not count after the machine has slept: its monotonic clock stood still', () => {
  const clock = new ManualClock();
  const checks = new FreshChecks(clock);
  checks.note('web', 'answered');
  clock.setWall(clock.now() + 30_000);
  expect(checks.of('web')).toBe('answered');
  clock.setWall(clock.now() + 1);
  expect(checks.of('web')).toBeUndefined();
});
