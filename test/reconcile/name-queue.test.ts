import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NameQueue } from '../../src/reconcile/name-queue.ts';

function lineOf(...names: readonly string[]): NameQueue {
  const line = new NameQueue();
  for (const name of names) line.add(name);
  return line;
}

/** Takes until nobody is left. */
function takeAll(line: NameQueue): readonly string[] {
  const taken: string[] = [];
  for (let name = line.removeFirst(); name !== undefined; name = line.removeFirst()) taken.push(name);
  return taken;
}

describe('a line', () => {
  it('gives its names in the order in which they came, each once', () => {
    const line = lineOf('b', 'a', 'b', 'c');
    expect(line.size).toBe(3);
    expect(takeAll(line)).toEqual(['b', 'a', 'c']);
    expect(line.size).toBe(0);
  });

  it('puts a name that was taken at its end when it comes again', () => {
    const line = lineOf('a', 'b');
    expect(line.removeFirst()).toBe('a');
    line.add('a');
    expect(takeAll(line)).toEqual(['b', 'a']);
  });

  it('goes on after it was empty', () => {
    const line = lineOf('a');
    expect(takeAll(line)).toEqual(['a']);
    expect(line.removeFirst()).toBeUndefined();
    line.add('b');
    line.add('a');
    expect(takeAll(line)).toEqual(['b', 'a']);
  });

  it('is empty once it was cleared, and can be used again', () => {
    const line = lineOf('a', 'b', 'c');
    line.removeFirst();
    line.clear();
    expect([line.size, line.removeFirst()]).toEqual([0, undefined]);
    line.add('c');
    expect(takeAll(line)).toEqual(['c']);
  });

  it('does what a list of names without repetitions does, whatever comes in between', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.nat(40).map(String) },
      { weight: 5, arbitrary: fc.constant('take') },
      { weight: 1, arbitrary: fc.constant('clear') },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const line = new NameQueue();
        const model: string[] = [];
        for (const name of steps) {
          if (name === 'take') expect(line.removeFirst()).toBe(model.shift());
          else if (name === 'clear') {
            line.clear();
            model.length = 0;
          } else {
            line.add(name);
            if (!model.includes(name)) model.push(name);
          }
          expect(line.size).toBe(model.length);
        }
      }),
    );
  });
});
