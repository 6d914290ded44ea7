import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CompactNames } from '../../src/reconcile/compact-names.ts';

it('holds the names of every key as sets would, however many there are', () => {
  const name = fc.integer({ min: 0, max: 40 }).map((number) => `web-${number}`);
  const keys = fc.subarray(['a', 'b']);
  const steps = fc.array(fc.record({ name, from: keys, to: keys }), { maxLength: 200 });
  fc.assert(
    fc.property(steps, (history) => {
      const names = new CompactNames();
      const sets = new Map([
        ['a', new Set<string>()],
        ['b', new Set<string>()],
      ]);
      for (const step of history) {
        names.move(step.name, step.from, step.to);
        for (const key of step.from) sets.get(key)?.delete(step.name);
        for (const key of step.to) sets.get(key)?.add(step.name);
        for (const [key, set] of sets) {
          expect([...names.of(key)].sort()).toEqual([...set].sort());
          expect(names.has(key)).toBe(set.size > 0);
        }
      }
    }),
  );
});
