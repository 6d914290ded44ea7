import { expect, it } from 'vitest';
import type { Steps } from '../src/model/steps.ts';
import { createSlices, WORK_SLICE_MS } from '../src/slices.ts';
import { ManualClock } from './support/manual-clock.ts';

/** Work of so many steps, each of which takes so long. */
function* work(clock: ManualClock, { steps, ms }: { readonly steps: number; readonly ms: number }): Steps<string> {
  for (let step = 0; step < steps; step += 1) {
    clock.advance(ms);
    yield;
  }
  return 'done';
}

function open() {
  const clock = new ManualClock();
  const pauses: number[] = [];
  const inSlices = createSlices(clock, async () => {
    pauses.push(clock.monotonic());
    // Other work takes time too, and does not count.
    clock.advance(1_000);
  });
  return { clock, pauses, inSlices };
}

it('pauses whenever a slice is over, and answers with the result', async () => {
  const { clock, pauses, inSlices } = open();
  expect(await inSlices(work(clock, { steps: 10, ms: WORK_SLICE_MS / 2 }))).toBe('done');
  expect(pauses).toEqual([0, 1, 2, 3, 4].map((slice) => (slice + 1) * WORK_SLICE_MS + slice * 1_000));
});

it('does not pause in short work, which is through before anything else runs', () => {
  const { clock, pauses, inSlices } = open();
  let isOver = false;
  function* short(): Steps<void> {
    yield* work(clock, { steps: WORK_SLICE_MS - 1, ms: 1 });
    isOver = true;
  }
  void inSlices(short());
  expect([isOver, pauses]).toEqual([true, []]);
});

it('rejects with what the work throws', async () => {
  const { clock, inSlices } = open();
  function* failing(): Steps<void> {
    yield* work(clock, { steps: 3, ms: WORK_SLICE_MS });
    throw new Error('no such unit');
  }
  await expect(inSlices(failing())).rejects.toThrow('no such unit');
});
