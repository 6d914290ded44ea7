// Names sorted in steps.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { finish, sortNames } from '../../src/base/steps.ts';
import { compareNames } from '../../src/model/names.ts';

it('sorts as the sort of a list does, names that occur twice included', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 5_000 }).map(String), { maxLength: 3_000, size: 'max' }),
      (names) => {
        expect(finish(sortNames(names))).toEqual([...names].sort(compareNames));
      },
    ),
    { numRuns: 30 },
  );
});

it('has steps whose size does not depend on the number of names', () => {
  const names = Array.from({ length: 100_000 }, (_, number) => String((number * 7_919) % 100_000));
  let steps = 0;
  for (const _step of { [Symbol.iterator]: () => sortNames(names) }) steps += 1;
  // 200 parts of 500 names, and eight rounds of merging.
  expect(steps).toBeGreaterThan(1_000);
});
