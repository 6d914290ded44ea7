import { describe, expect, test } from 'vitest';
import { WokenLoop } from '../../src/base/woken-loop.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A lookout whose looks end when they are told to. */
function start() {
  const clock = new ManualClock();
  const polls: PromiseWithResolvers<void>[] = [];
  const loop = new WokenLoop({
    clock,
    everyMs: 1000,
    async work() {
      const end = Promise.withResolvers<void>();
      polls.push(end);
      await end.promise;
      return false;
    },
  });
  async function finish(): Promise<void> {
    polls.at(-1)?.resolve();
    // Everything that follows from it has happened by then.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { clock, polls, loop, finish };
}

describe('WokenLoop', () => {
  test('runs at its interval', async () => {
    const { clock, polls, finish } = start();
    clock.advance(999);
    expect(polls).toHaveLength(0);
    clock.advance(1);
    expect(polls).toHaveLength(1);
    clock.advance(5000);
    expect(polls).toHaveLength(1);
    await finish();
    clock.advance(1000);
    expect(polls).toHaveLength(2);
  });

  test('runs soon after the first of many requests', async () => {
    const { clock, polls, loop, finish } = start();
    for (let ms = 0; ms < 9; ms++) {
      loop.wakeWithin(10);
      clock.advance(1);
    }
    expect(polls).toHaveLength(0);
    clock.advance(1);
    expect(polls).toHaveLength(1);
    await finish();
    expect(clock.pending).toBe(1);
    clock.advance(999);
    expect(polls).toHaveLength(1);
  });

  test('runs again after a request during a run, and never twice at once', async () => {
    const { clock, polls, loop, finish } = start();
    loop.wakeWithin(10);
    clock.advance(10);
    loop.wakeWithin(10);
    loop.wakeWithin(10);
    clock.advance(2000);
    expect(polls).toHaveLength(1);
    await finish();
    clock.advance(10);
    expect(polls).toHaveLength(2);
    await finish();
    clock.advance(999);
    expect(polls).toHaveLength(2);
  });

  test('does not run after close, which waits for the present run', async () => {
    const { clock, polls, loop, finish } = start();
    clock.advance(1000);
    let isClosed = false;
    const closing = loop.close().then(() => {
      isClosed = true;
    });
    loop.wakeWithin(10);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    await finish();
    await closing;
    clock.advance(5000);
    expect(polls).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  test('does not run if it is closed while it waits', async () => {
    const { clock, polls, loop } = start();
    loop.wakeWithin(10);
    await loop.close();
    loop.wakeWithin(10);
    clock.advance(5000);
    expect(polls).toHaveLength(0);
  });
});
