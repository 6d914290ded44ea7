import { expect, test } from 'vitest';
import { limitLooks } from '../../../src/api/webhook/look-limit.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function limit() {
  const clock = new ManualClock();
  const began = clock.now();
  const looks: number[] = [];
  const { ask, stop } = limitLooks(() => looks.push(clock.now() - began), { clock, pauseMs: 1_000 });
  return { clock, looks, ask, stop };
}

test('the first look comes at once, those of the pause together at its end', () => {
  const { clock, looks, ask } = limit();
  ask();
  expect(looks).toEqual([0]);
  for (let n = 0; n < 9; n++) {
    ask();
    clock.advance(100);
  }
  expect(looks).toEqual([0]);
  clock.advance(100);
  expect(looks).toEqual([0, 1_000]);
  ask();
  clock.advance(999);
  expect(looks).toEqual([0, 1_000]);
  clock.advance(1);
  expect(looks).toEqual([0, 1_000, 2_000]);
});

test('after a pause in which nobody asked, the next look comes at once again', () => {
  const { clock, looks, ask } = limit();
  ask();
  clock.advance(1_000);
  expect({ looks, pending: clock.pending }).toEqual({ looks: [0], pending: 0 });
  clock.advance(500);
  ask();
  expect(looks).toEqual([0, 1_500]);
});

test('no look comes after the end', () => {
  const { clock, looks, ask, stop } = limit();
  ask();
  ask();
  stop();
  clock.advance(10_000);
  expect({ looks, pending: clock.pending }).toEqual({ looks: [0], pending: 0 });
});
