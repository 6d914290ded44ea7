import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { TURN_MS } from '../../src/base/breathe.ts';
import { Queue } from '../../src/reconcile/queue.ts';
import { countRuns } from '../support/count-runs.ts';
import { ManualClock } from '../support/manual-clock.ts';

/** A queue whose handling of a name ends when the test says so. */
function openQueue(concurrency = 2) {
  const clock = new ManualClock();
  const started: string[] = [];
  const running = new Map<string, () => void>();
  const queue = new Queue({
    clock,
    concurrency,
    handle(name) {
      if (running.has(name)) throw new Error(`${name} twice at once`);
      started.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      running.set(name, () => {
        running.delete(name);
        resolve();
      });
      return promise;
    },
  });
  /** Ends the handling of a name, and lets what follows from it happen. */
  async function end(name: string): Promise<void> {
    running.get(name)?.();
    await settle();
  }
  return { queue, clock, started, running, end };
}

/** Lets everything happen that waits for nothing but its turn. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

it('Queue pauses after each turn, and continues', async () => {
  const clock = new ManualClock();
  const started: string[] = [];
  const turns: PromiseWithResolvers<void>[] = [];
  clock.nextTurn = () => {
    const turn = Promise.withResolvers<void>();
    turns.push(turn);
    return turn.promise;
  };
  const queue = new Queue({
    clock,
    concurrency: 10,
    async handle(name) {
      started.push(name);
      clock.advance(TURN_MS / 2);
    },
  });
  const nextTurn = async (): Promise<void> => {
    for (const turn of turns.splice(0)) turn.resolve();
    await settle();
  };
  for (const name of 'abcde') queue.add(name);
  await settle();
  expect(started).toEqual(['a', 'b']);
  await nextTurn();
  expect(started).toEqual(['a', 'b', 'c', 'd']);
  await nextTurn();
  expect(started).toEqual(['a', 'b', 'c', 'd', 'e']);
});

describe('addAfter', () => {
  it('adds the name after its time', () => {
    const { queue, clock, started } = openQueue();
    queue.addAfter('a', 1000);
    clock.advance(999);
    expect(started).toEqual([]);
    clock.advance(1);
    expect(started).toEqual(['a']);
  });

  it.each([
    [1000, 5000],
    [5000, 1000],
  ])('after %d ms is replaced by the next one, after %d ms', (first, second) => {
    const { queue, clock, started } = openQueue();
    queue.addAfter('a', first);
    queue.addAfter('a', second);
    expect(clock.pending).toBe(1);
    clock.advance(second - 1);
    expect(started).toEqual([]);
    clock.advance(1);
    expect(started).toEqual(['a']);
  });
});

describe('stop', () => {
  it('waits for running handlers, and starts no waiting name', async () => {
    const { queue, clock, started, end } = openQueue(1);
    queue.add('a');
    queue.add('a');
    queue.add('b');
    queue.addAfter('c', 1000);
    const stopped = vi.fn();
    const stopping = queue.stop().then(stopped);
    await settle();
    expect(stopped).not.toHaveBeenCalled();
    await end('a');
    await stopping;
    clock.advance(2000);
    expect(started).toEqual(['a']);
    expect(clock.pending).toBe(0);
  });
});

it('Queue handles every name after it was added last, in any order of events', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('add' as const), name: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ kind: fc.constant('end' as const), name: fc.constantFrom('a', 'b', 'c', 'd') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 3 }), async (steps, concurrency) => {
      const { queue, started, running, end } = openQueue(concurrency);
      const owed = new Set<string>();
      for (const { kind, name } of steps) {
        const count = started.length;
        if (kind === 'add') {
          owed.add(name);
          queue.add(name);
        } else {
          await end(name);
        }
        expect(running.size).toBeLessThanOrEqual(concurrency);
        for (const each of started.slice(count)) owed.delete(each);
      }
      for (let rounds = 0; running.size > 0 && rounds < 100; rounds++) {
        const count = started.length;
        for (const name of [...running.keys()]) await end(name);
        for (const each of started.slice(count)) owed.delete(each);
      }
      expect([...owed]).toEqual([]);
    }),
    { numRuns: countRuns(60) },
  );
});
