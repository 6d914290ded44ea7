import { expect, it } from 'vitest';
import { logOnceAMinute } from '../src/base/log-once-a-minute.ts';
import { ManualClock } from './support/manual-clock.ts';

function open() {
  const clock = new ManualClock();
  return { clock, logOnce: logOnceAMinute(clock) };
}

it('logOnceAMinute logs an error once a minute with the number of repeats', () => {
  const { clock, logOnce } = open();
  expect(logOnce(new Error('disk full'))).toEqual({ repeated: undefined, omitted: undefined });
  for (let second = 1; second < 60; second++) {
    clock.advance(1_000);
    expect(logOnce(new Error('disk full'))).toBeUndefined();
  }
  clock.advance(1_000);
  expect(logOnce(new Error('disk full'))).toMatchObject({ repeated: 59 });
  clock.advance(60_000);
  expect(logOnce(new Error('disk full'))).toMatchObject({ repeated: undefined });
});

it('logOnceAMinute logs other errors and keys immediately', () => {
  const { logOnce } = open();
  const logged = [new Error('one'), new Error('two'), 'one', 'three', undefined].map((key) => logOnce(key));
  expect(logged.map((each) => each !== undefined)).toEqual([true, true, false, true, true]);
});

it('logOnceAMinute is not silenced by a clock that was set back', () => {
  const { clock, logOnce } = open();
  logOnce('disk full');
  clock.setWall(clock.now() - 3_600_000);
  clock.advance(60_000);
  expect(logOnce('disk full')).toBeDefined();
});

it('logOnceAMinute logs at most a hundred keys a minute, and the number of omitted ones', () => {
  const { clock, logOnce } = open();
  const logged = Array.from({ length: 1_000 }, (_, index) => logOnce(`key ${index}`));
  expect(logged.filter((each) => each !== undefined)).toHaveLength(100);
  clock.advance(60_000);
  expect(logOnce('key 999')).toEqual({ repeated: undefined, omitted: 900 });
  expect(logOnce('key 1')).toEqual({ repeated: undefined, omitted: undefined });
});
