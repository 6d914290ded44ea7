import fc from 'fast-check';
import { expect, it } from 'vitest';
import { didYouMean } from '../../src/base/wording.ts';
import { compareNames } from '../../src/model/names.ts';

/** Optimal string alignment, from the table of all prefixes. */
function distanceOf(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : i)),
  );
  const at = (i: number, j: number): number => table[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    for (let j = 1; j <= b.length; j += 1) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const ways = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + cost, isSwapped ? at(i - 2, j - 2) + 1 : 99];
      (table[i] ?? [])[j] = Math.min(...ways);
    }
  }
  return at(a.length, b.length);
}

function limitOf(a: string, b: string): number {
  const length = Math.max(a.length, b.length);
  if (Math.min(a.length, b.length) === 0 || length < 2) return 0;
  return length < 6 ? 1 : 2;
}

const names = fc.string({ unit: fc.constantFrom('a', 'b', 'A', '-'), maxLength: 9 });

it('finds the nearest name, whichever way its letters differ', () => {
  fc.assert(
    fc.property(names, fc.array(names, { maxLength: 8 }), (name, candidates) => {
      const [nearest] = candidates
        .filter((candidate) => candidate !== name)
        .map((candidate) => ({ candidate, distance: distanceOf(name.toLowerCase(), candidate.toLowerCase()) }))
        .filter(({ candidate, distance }) => distance <= limitOf(name, candidate))
        .sort((a, b) => a.distance - b.distance || compareNames(a.candidate, b.candidate));
      expect(didYouMean(name, candidates)).toBe(nearest === undefined ? null : `did you mean "${nearest.candidate}"?`);
    }),
    { numRuns: 5_000 },
  );
});

it.each([
  ['shop', ['shpo', 'shops'], 'shops'],
  ['production', ['prodcutoin'], 'prodcutoin'],
  ['production', ['podcution'], 'podcution'],
  ['nope', ['name'], null],
])('%s, of %j: %s', (name, candidates, meant) => {
  expect(didYouMean(name, candidates)).toBe(meant === null ? null : `did you mean "${meant}"?`);
});

it('looks at the first thousand candidates, however many there are', () => {
  let seen = 0;
  function* candidates(): Generator<string> {
    for (;;) yield `other-${seen++}`;
  }
  expect(didYouMean('shop', candidates())).toBeNull();
  expect(seen).toBeLessThanOrEqual(1_001);
  expect(didYouMean('shop', [...Array.from({ length: 999 }, () => 'other'), 'shops'])).toBe('did you mean "shops"?');
});

it('compares a name of many equal letters with as long ones in little work', () => {
  const candidates = Array.from({ length: 1_000 }, (_, index) => `${'a'.repeat(240)}${index}bcd`);
  expect(didYouMean(`${'a'.repeat(245)}`, candidates)).toBeNull();
});
