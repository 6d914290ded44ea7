import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/model/json.ts';
import { matchItems, mergeLines } from '../../src/yaml-edit/merge-lines.ts';

describe('matchItems', () => {
  test.each<readonly [what: string, old: readonly Json[], wanted: readonly Json[], aligned: readonly number[]]>([
    ['nothing', [], [], []],
    ['an item changed', ['a', 'b', 'c'], ['a', 'x', 'c'], [0, 1, 2]],
    ['removed', ['a', 'b', 'c'], ['a', 'c'], [0, 2]],
    ['added', ['a', 'c'], ['a', 'b', 'c', 'd'], [0, -1, 1, -1]],
    ['removed, kept, added', ['a', 'b', 'c', 'd'], ['b', 'd', 'e'], [1, 3, -1]],
    ['moved to the front', ['a', 'b', 'c'], ['c', 'a', 'b'], [-1, 0, 1]],
    ['maps whose keys stand in another order', [1, { a: 1, b: 2 }], [{ b: 2, a: 1 }, 2], [1, -1]],
    ['namesakes and equal items', [{ name: 'a' }, 1, { name: 'b' }], [1, { name: 'b', x: 1 }], [1, 2]],
    ['names that are no texts', [{ name: 1 }, { name: 2 }], [{ name: 2, x: 1 }], [0]],
    ['values that look alike', ['1', 1, null], [1, 'null'], [1, 2]],
  ])('%s', (_what, old, wanted, aligned) => {
    expect(matchItems(old, wanted)).toEqual(aligned);
  });

  test('matches lists with thousands of changes by their order', () => {
    const old = Array.from({ length: 3_000 }, (_, index) => index);
    expect(matchItems(old, [...old.toReversed(), 'new'])).toEqual([...old, -1]);
  });
});

test('mergeLines keeps lines of the file that are printed otherwise, unless their printed form changes', () => {
  const file = ['a:   1', '', '', 'b: [x,', '  y]', 'c: yes'];
  const before = ['a: 1', '', 'b: [ x, y ]', 'c: "yes"'];
  expect(mergeLines(file, before, before)).toEqual(file);
  expect(mergeLines(file, before, ['a: 1', '', 'b: [ x, z ]', 'c: "yes"'])).toEqual([
    'a:   1',
    '',
    'b: [ x, z ]',
    'c: yes',
  ]);
  expect(mergeLines(file, before, ['a: 2', '', 'b: [ x, y ]', 'c: "yes"'])).toEqual(['a: 2', ...file.slice(1)]);
});

describe('thousands of lines', () => {
  const lines = Array.from({ length: 5_000 }, (_, index) => `key${index}:   v${index} # note`);
  const printed = lines.map((line) => line.replace(/ +/, ' '));

  test('mergeLines keeps those that do not change, however many others do', () => {
    const changed = (line: string, index: number) => (index % 3 === 0 ? line.replace(/: +v/, ': w') : line);
    expect(mergeLines(lines, printed, printed.map(changed))).toEqual(lines.map(changed));
  });

  test('mergeLines returns nothing if too many of them change their places', () => {
    expect(mergeLines(lines, printed, printed.toReversed())).toBeUndefined();
  });
});
