import { expect, test } from 'vitest';
import { applySplices, type Splice } from '../../src/yaml-edit/text-edit.ts';

test.each<readonly [what: string, splices: readonly Splice[], text: string]>([
  ['nothing', [], 'abcdef'],
  [
    'in any order',
    [
      { start: 4, end: 6, text: 'X' },
      { start: 0, end: 1, text: '' },
    ],
    'bcdX',
  ],
  [
    'side by side',
    [
      { start: 1, end: 2, text: 'X' },
      { start: 2, end: 3, text: 'Y' },
    ],
    'aXYdef',
  ],
  [
    'put in before what is replaced there',
    [
      { start: 1, end: 3, text: 'X' },
      { start: 1, end: 1, text: 'Y' },
    ],
    'aYXdef',
  ],
  [
    'put in at one place',
    [
      { start: 6, end: 6, text: 'X' },
      { start: 6, end: 6, text: 'Y' },
    ],
    'abcdefXY',
  ],
])('%s', (_what, splices, text) => {
  expect(applySplices('abcdef', splices)).toBe(text);
});

test('splices that overlap are a mistake of ours', () => {
  const splices = [
    { start: 0, end: 3, text: '' },
    { start: 2, end: 4, text: '' },
  ];
  expect(() => applySplices('abcdef', splices)).toThrow('splices do not overlap');
});
