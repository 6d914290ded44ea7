import { expect, test } from 'vitest';
import { countLog, throttleLog } from '../src/base/throttles.ts';
import { ManualClock } from './support/manual-clock.ts';

test('of each interval ten lines are written, and the others are counted', () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const throttle = throttleLog(clock, (count) => lines.push(`${count} more`));
  const write = (times: number): void => {
    for (let index = 0; index < times; index++) throttle.log(() => lines.push('line'));
  };
  write(1_000);
  expect(lines).toEqual(Array.from({ length: 10 }, () => 'line'));
  clock.advance(10_000);
  expect(lines.slice(10)).toEqual(['990 more']);
  write(3);
  clock.advance(10_000);
  expect(lines.slice(11)).toEqual(['line', 'line', 'line']);
  expect(clock.pending).toBe(0);
  write(20);
  throttle.stop();
  expect(lines.slice(24)).toEqual(['10 more']);
  clock.advance(10_000);
  expect(lines).toHaveLength(25);
  expect(clock.pending).toBe(0);
});

test('what happens again and again under a key is written once at first, and then with its count', () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const note = countLog(clock);
  const happen = (key: string, times: number): void => {
    for (let index = 0; index < times; index++) note(key, (count) => lines.push(`${key} ${count}`));
  };
  happen('a', 1_000);
  happen('b', 1);
  expect(lines).toEqual(['a 1', 'b 1']);
  clock.advance(10_000);
  expect(lines.slice(2)).toEqual(['a 999']);
  expect(clock.pending).toBe(0);
  happen('a', 2);
  expect(lines.slice(3)).toEqual(['a 1']);
});
