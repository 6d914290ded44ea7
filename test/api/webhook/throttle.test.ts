import { expect, test } from 'vitest';
import { throttle } from '../../../src/api/webhook/webhook.ts';
import { ManualClock } from '../../support/manual-clock.ts';

function limit() {
  const clock = new ManualClock();
  const began = clock.now();
  const polls: number[] = [];
  const { requestPoll: ask, stop } = throttle(() => polls.push(clock.now() - began), { clock, pauseMs: 1_000 });
  return { clock, polls, ask, stop };
}

test('the first look comes at once, those of the pause together at its end', () => {
  const { clock, polls, ask } = limit();
  ask();
  expect(polls).toEqual([0]);
  for (let n = 0; n < 9; n++) {
    ask();
    clock.advance(100);
  }
  expect(polls).toEqual([0]);
  clock.advance(100);
  expect(polls).toEqual([0, 1_000]);
  ask();
  clock.advance(999);
  expect(polls).toEqual([0, 1_000]);
  clock.advance(1);
  expect(polls).toEqual([0, 1_000, 2_000]);
});

test('after a pause in which nobody asked, the next look comes at once again', () => {
  const { clock, polls, ask } = limit();
  ask();
  clock.advance(1_000);
  expect({ polls, pending: clock.pending }).toEqual({ polls: [0], pending: 0 });
  clock.advance(500);
  ask();
  expect(polls).toEqual([0, 1_500]);
});

test('no look comes after the end', () => {
  const { clock, polls, ask, stop } = limit();
  ask();
  ask();
  stop();
  clock.advance(10_000);
  expect({ polls, pending: clock.pending }).toEqual({ polls: [0], pending: 0 });
});
