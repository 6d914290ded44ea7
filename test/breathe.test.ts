import { expect, it } from 'vitest';
import { breatheBy, TURN_MS } from '../src/base/breathe.ts';
import { ManualClock } from './support/manual-clock.ts';

/** A clock whose turns of the event loop end when the test says so. */
function open() {
  const clock = new ManualClock();
  let waiting: (() => void)[] = [];
  clock.nextTurn = () => new Promise<void>((resolve) => void waiting.push(resolve));
  async function endTurn(): Promise<void> {
    const ended = waiting;
    waiting = [];
    for (const resolve of ended) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const done: string[] = [];
  /** Takes so many milliseconds for each item. */
  async function loop(name: string, { items, ms }: { readonly items: number; readonly ms: number }): Promise<void> {
    const breathe = breatheBy(clock);
    for (let item = 1; item <= items; item += 1) {
      clock.advance(ms);
      done.push(`${name}${item}`);
      await breathe();
    }
    done.push(`${name} ends`);
  }
  return { clock, done, loop, endTurn };
}

it('breathe resolves immediately in the first milliseconds of a turn', async () => {
  const { done, loop } = open();
  await loop('a', { items: TURN_MS, ms: 1 });
  expect(done.at(-1)).toBe('a ends');
});

it('breathe pauses after them until a later turn', async () => {
  const { done, loop, endTurn } = open();
  const looping = loop('a', { items: 4, ms: TURN_MS });
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual(['a1', 'a2']);
  await endTurn();
  expect(done).toEqual(['a1', 'a2', 'a3', 'a4']);
  await endTurn();
  await looping;
  expect(done.at(-1)).toBe('a ends');
});

it('breathe lets all loops of one clock share a turn', async () => {
  const { done, loop, endTurn } = open();
  const looping = [loop('a', { items: 1, ms: TURN_MS }), loop('b', { items: 2, ms: TURN_MS })];
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual(['a1', 'b1', 'a ends']);
  await endTurn();
  await endTurn();
  await Promise.all(looping);
  expect(done).toEqual(['a1', 'b1', 'a ends', 'b2', 'b ends']);
});
