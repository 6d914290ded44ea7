import { expect, it } from 'vitest';
import { createSlices, turnsOf, WORK_SLICE_MS } from '../src/base/slices.ts';
import type { Steps } from '../src/base/steps.ts';
import { ManualClock } from './support/manual-clock.ts';

/** Work of so many steps, each of which takes so long, and is noted with a letter. */
interface Work {
  readonly steps: number;
  readonly ms: number;
}

function open() {
  const clock = new ManualClock();
  const turns: PromiseWithResolvers<void>[] = [];
  let done = '';
  clock.nextTurn = () => {
    const turn = Promise.withResolvers<void>();
    turns.push(turn);
    return turn.promise;
  };
  const inSlices = createSlices(clock);
  function* work(letter: string, { steps, ms }: Work): Steps<string> {
    for (let step = 0; step < steps; step += 1) {
      clock.advance(ms);
      done += letter;
      yield;
    }
    return letter;
  }
  /** Ends the present turn of the event loop, and returns what was done in the next one. Other work takes time too. */
  async function nextTurn(): Promise<string> {
    clock.advance(1_000);
    done = '';
    turns.shift()?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    return done;
  }
  return { clock, inSlices, work, nextTurn, done: () => done };
}

const HALF = WORK_SLICE_MS / 2;

it('pauses whenever a slice is over, for a whole turn at first, and answers with the result', async () => {
  const { inSlices, work, nextTurn, done } = open();
  const result = inSlices(work('a', { steps: 8, ms: HALF }));
  expect(done()).toBe('aaa');
  expect([await nextTurn(), await nextTurn(), await nextTurn(), await nextTurn()]).toEqual(['', 'aa', 'aa', 'a']);
  expect(await result).toBe('a');
});

it('does not pause in short work, which is through before anything else runs', () => {
  const { inSlices, work, done } = open();
  void inSlices(work('a', { steps: WORK_SLICE_MS - 1, ms: 1 }));
  expect(done()).toBe('a'.repeat(WORK_SLICE_MS - 1));
});

it('has works that follow one another share the slice of a turn, however short each of them is', async () => {
  const { inSlices, work, nextTurn, done } = open();
  async function several(): Promise<void> {
    for (const letter of 'abcdefg') await inSlices(work(letter, { steps: 1, ms: HALF }));
  }
  const all = several();
  await new Promise((resolve) => setImmediate(resolve));
  expect(done()).toBe('abc');
  expect([await nextTurn(), await nextTurn(), await nextTurn()]).toEqual(['', 'de', 'fg']);
  await nextTurn();
  await all;
});

it('gives each turn to one of those who wait, in the order in which they came', async () => {
  const { inSlices, work, nextTurn } = open();
  for (const letter of 'abc') void inSlices(work(letter, { steps: 5, ms: WORK_SLICE_MS }));
  const turns: string[] = [];
  for (let turn = 0; turn < 8; turn += 1) turns.push(await nextTurn());
  expect(turns).toEqual(['', 'a', 'b', 'c', 'a', 'b', 'c', 'a']);
});

it('shares the turns of all that goes by the same clock, and of nothing else', () => {
  const clock = new ManualClock();
  expect(turnsOf(clock)).toBe(turnsOf(clock));
  expect(turnsOf(new ManualClock())).not.toBe(turnsOf(clock));
});

it('rejects with what the work throws', async () => {
  const { clock, inSlices, nextTurn } = open();
  function* failing(): Steps<void> {
    clock.advance(WORK_SLICE_MS);
    yield;
    throw new Error('no such unit');
  }
  const failed = expect(inSlices(failing())).rejects.toThrow('no such unit');
  for (let turn = 0; turn < 2; turn += 1) await nextTurn();
  await failed;
});
