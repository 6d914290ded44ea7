import { expect, it } from 'vitest';
import { RepeatedErrors } from '../src/base/throttles.ts';
import { ManualClock } from './support/manual-clock.ts';

function open() {
  const clock = new ManualClock();
  return { clock, errors: new RepeatedErrors(clock) };
}

it('tells an error once a minute, and how often it came meanwhile', () => {
  const { clock, errors } = open();
  expect(errors.fieldsToLog(new Error('disk full'))).toEqual({ repeated: undefined });
  for (let second = 1; second < 60; second++) {
    clock.advance(1_000);
    expect(errors.fieldsToLog(new Error('disk full'))).toBeUndefined();
  }
  clock.advance(1_000);
  expect(errors.fieldsToLog(new Error('disk full'))).toEqual({ repeated: 59 });
  clock.advance(60_000);
  expect(errors.fieldsToLog(new Error('disk full'))).toEqual({ repeated: undefined });
});

it('tells errors of other words at once, whatever they are', () => {
  const { errors } = open();
  const told = [new Error('one'), new Error('two'), 'one', 'three', undefined].map((error) =>
    errors.fieldsToLog(error),
  );
  expect(told.map((each) => each !== undefined)).toEqual([true, true, false, true, true]);
});

it('is not kept quiet by a clock that was set back', () => {
  const { clock, errors } = open();
  errors.fieldsToLog('disk full');
  clock.setWall(clock.now() - 3_600_000);
  clock.advance(60_000);
  expect(errors.fieldsToLog('disk full')).toBeDefined();
});

it('forgets the oldest of many', () => {
  const { errors } = open();
  for (let index = 0; index <= 100; index++) errors.fieldsToLog(`error ${index}`);
  expect(errors.fieldsToLog('error 100')).toBeUndefined();
  expect(errors.fieldsToLog('error 0')).toBeDefined();
});
