import { expect, test } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { editText } from './edit-text.ts';

test.each<readonly [what: string, before: string, wanted: JsonMap, reason: RegExp]>([
  ['an anchor', 'a: &x 1\n', { a: 2 }, /^the file has a mistake already: line 1: the anchor "&x" is not supported$/],
  ['no YAML', 'a: [\n', { a: 2 }, /^the file has a mistake already: line 1: the \[ here is not closed$/],
  ['no map', '- a\n', { a: 2 }, /^the file holds no map of keys and values$/],
  ['line ends of old', 'a: 1\rb: 2\r', { a: 2, b: 2 }, /^line 1: Nested mappings are not allowed/],
  ['what the other parser refuses', '\t---\na: 1\n', { a: 2 }, /^line 1: Tabs are not allowed as indentation$/],
  ['a key behind "?"', '? a\n: 1\nb: 1\n', { b: 1 }, /^a key is written with "\?"$/],
  ['a value below its key', 'a:\n  x\n', { a: ['x'] }, /^a value is on the line below its key$/],
  ['a removed comment among values', 'a: [x, # c\n  u]\n', { a: ['u'] }, /^a comment or blank line is among values/],
  [
    'a moved comment among values',
    'a: [\n  x # c\n  ]\n',
    { a: ['x', 'u'] },
    /^a comment or blank line is among values/,
  ],
  ['comments in what becomes empty', 'a: [x # c\n  ]\n', { a: [] }, /^a comment or blank line is among values/],
  ['a map without braces', 'a: [b: 1]\n', { a: [{ b: 1, c: 1 }] }, /^a map in a list has no braces$/],
  [
    'an empty line that would become text',
    'a: |+\n  x\nb: 1\n\nc: 1\n',
    { a: 'x\n', c: 1 },
    /^other values in the file would change/,
  ],
  ['a character that no file can hold', 'a: 1\n', { a: 'x\0' }, /other values .*: line 1: the text holds an escape/],
  ['an empty key', 'a: 1\n', { a: 1, '': 1 }, /: line 2: a key is empty$/],
  ['a number beyond all bounds', 'a: 1\n', { a: 2 ** 60 }, /is too large to be kept exactly$/],
])('%s', (_what, before, wanted, reason) => {
  expect(editText(before, wanted)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
});
