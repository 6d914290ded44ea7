import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/model/json.ts';
import { matchItems } from '../../src/yaml-edit/match-items.ts';

describe('matchItems', () => {
  test.each<readonly [what: string, old: readonly Json[], wanted: readonly Json[], aligned: readonly number[]]>([
    ['nothing', [], [], []],
    ['the same', ['a', 'b'], ['a', 'b'], [0, 1]],
    ['an item changed', ['a', 'b', 'c'], ['a', 'x', 'c'], [0, 1, 2]],
    ['removed', ['a', 'b', 'c'], ['a', 'c'], [0, 2]],
    ['added', ['a', 'c'], ['a', 'b', 'c', 'd'], [0, -1, 1, -1]],
    ['removed and changed', ['a', 'b', 'c'], ['a', 'x'], [0, 1]],
    ['removed, kept, added', ['a', 'b', 'c', 'd'], ['b', 'd', 'e'], [1, 3, -1]],
    ['moved to the front', ['a', 'b', 'c'], ['c', 'a', 'b'], [-1, 0, 1]],
    ['the same again', ['a', 'a'], ['a'], [0]],
    ['maps whose keys stand in another order', [1, { a: 1, b: 2 }], [{ b: 2, a: 1 }, 2], [1, -1]],
    ['namesakes', [{ name: 'a' }, { name: 'b' }], [{ name: 'b', x: 1 }], [1]],
    ['namesakes and equal items', [{ name: 'a' }, 1, { name: 'b' }], [1, { name: 'b', x: 1 }], [1, 2]],
    ['names that are no texts', [{ name: 1 }, { name: 2 }], [{ name: 2, x: 1 }], [0]],
    ['values that look alike', ['1', 1, null], [1, 'null'], [1, 2]],
  ])('%s', (_what, old, wanted, aligned) => {
    expect(matchItems(old, wanted)).toEqual(aligned);
  });

  test('matches very long lists by index alone, but for what is the same at both ends', () => {
    const old = Array.from({ length: 3_000 }, (_, index) => index);
    const wanted = old.with(1, -1).toSpliced(2_998, 1);
    expect(matchItems(old, wanted)).toEqual([...old.slice(0, 2_998), 2_999]);
    expect(matchItems(wanted, old)).toEqual([...old.slice(0, 2_998), -1, 2_998]);
  });

  test('matches lists with thousands of changes by their order', () => {
    const old = Array.from({ length: 1_500 }, (_, index) => index);
    const wanted = Array.from({ length: 1_501 }, (_, index) => 10_000 + index);
    expect(matchItems(old, wanted)).toEqual([...old, -1]);
  });

  test('leaves between two pairs only old items or only new ones, and finds all that can be kept', () => {
    const items = fc.array(fc.nat({ max: 4 }), { maxLength: 8 });
    fc.assert(
      fc.property(items, items, (old, wanted) => {
        const aligned = matchItems(old, wanted);
        const pairs = [...aligned.entries()].filter(([, from]) => from !== -1);
        let last: readonly [number, number] = [-1, -1];
        for (const [to, from] of [...pairs, [wanted.length, old.length] as const]) {
          expect(from).toBeGreaterThan(last[1]);
          expect(Math.min(to - last[0], from - last[1])).toBe(1);
          last = [to, from];
        }
        const same = pairs.filter(([to, from]) => old[from] === wanted[to]);
        expect(same.length).toBeGreaterThanOrEqual(longestCommon(old, wanted));
      }),
    );
  });
});

function longestCommon(a: readonly number[], b: readonly number[]): number {
  if (a.length === 0 || b.length === 0) return 0;
  if (a[0] === b[0]) return 1 + longestCommon(a.slice(1), b.slice(1));
  return Math.max(longestCommon(a.slice(1), b), longestCommon(a, b.slice(1)));
}
