import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Line } from '../../src/base/line.ts';

function queueOf(...names: readonly string[]): Line {
  const queue = new Line();
  for (const name of names) queue.add(name);
  return queue;
}

/** Takes until nobody is left. */
function takeAll(queue: Line): readonly string[] {
  const taken: string[] = [];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) taken.push(name);
  return taken;
}

describe('a queue', () => {
  it('gives its names in the order in which they came, each once', () => {
    const queue = queueOf('b', 'a', 'b', 'c');
    expect(queue.size).toBe(3);
    expect(queue.first(2)).toEqual(['b', 'a']);
    expect(takeAll(queue)).toEqual(['b', 'a', 'c']);
    expect(queue.size).toBe(0);
  });

  it('puts a name that was taken at its end when it comes again', () => {
    const queue = queueOf('a', 'b');
    expect(queue.shift()).toBe('a');
    queue.add('a');
    expect(takeAll(queue)).toEqual(['b', 'a']);
  });

  it('goes on after it was empty', () => {
    const queue = queueOf('a');
    expect(takeAll(queue)).toEqual(['a']);
    expect(queue.shift()).toBeUndefined();
    queue.add('b');
    queue.add('a');
    expect(takeAll(queue)).toEqual(['b', 'a']);
  });

  it('is empty once it was cleared, and can be used again', () => {
    const queue = queueOf('a', 'b', 'c');
    queue.shift();
    queue.clear();
    expect([queue.size, queue.shift()]).toEqual([0, undefined]);
    queue.add('c');
    expect(takeAll(queue)).toEqual(['c']);
  });

  it('does what a list of names without repetitions does, whatever comes in between', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.nat(40).map(String) },
      { weight: 5, arbitrary: fc.constant('take') },
      { weight: 1, arbitrary: fc.constant('clear') },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const queue = new Line();
        const model: string[] = [];
        for (const name of steps) {
          if (name === 'take') expect(queue.shift()).toBe(model.shift());
          else if (name === 'clear') {
            queue.clear();
            model.length = 0;
          } else {
            queue.add(name);
            if (!model.includes(name)) model.push(name);
          }
          expect(queue.size).toBe(model.length);
        }
      }),
    );
  });
});
