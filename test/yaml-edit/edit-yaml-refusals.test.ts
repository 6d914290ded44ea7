import { expect, test } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { editText } from './edit-text.ts';

test.each<readonly [what: string, before: string, wanted: JsonMap, reason: RegExp]>([
  ['an anchor', 'a: &x 1\n', { a: 2 }, /^the file has a mistake already: line 1: the anchor "&x" is not supported$/],
  ['no YAML', 'a: [\n', { a: 2 }, /^the file has a mistake already: line 1: the \[ here is not closed$/],
  ['no map', '- a\n', { a: 2 }, /^the file holds no map of keys and values$/],
  ['line ends of old', 'a: 1\rb: 2\r', { a: 2, b: 2 }, /^line 1: a carriage return stands without a line feed$/],
  ['what the other parser refuses', '\t---\na: 1\n', { a: 2 }, /^line 1: Tabs are not allowed/],
  ['a key without a colon', 'a: 1\n? b\n', { a: 1, b: 2 }, /^line 2: there is no colon behind the key$/],
  ['a key behind "?"', '? a\n: 1\nb: 1\n', { b: 1 }, /^line 1: a key is written with "\?"/],
  ['a later key behind "?"', 'b: 1\n? a\n: 1\n', { b: 1 }, /^line 2: a key is written with "\?"/],
  ['a new key behind "?"', '? a\n: b: 1\n', { a: { b: 1, c: 1 } }, /^line 2: a key is written with "\?"/],
  ['a first key behind "?"', '? a\n: b: 1\n  c: 1\n', { a: { c: 1 } }, /^line 2: a key is written with "\?"/],
  ['comments among values', 'a: [x, # c\n  u]\n', { a: ['u'] }, /^line 1: a comment stands between the values/],
  ['comments in what becomes empty', 'a: [x # c\n  ]\n', { a: [] }, /^line 1: a comment stands between the values/],
  ['a map without braces', 'a: [b: 1]\n', { a: [{ b: 1, c: 1 }] }, /^line 1: a map in a list has no braces$/],
  [
    'an empty line that would become text',
    'a: |+\n  x\nb: 1\n\nc: 1\n',
    { a: 'x\n', c: 1 },
    /other values in it would change/,
  ],
  ['a character that no file can hold', 'a: 1\n', { a: 'x\0' }, /other values .*: line 1: the text holds an escape/],
  ['an empty key', 'a: 1\n', { a: 1, '': 1 }, /: line 2: a key is empty$/],
  ['a number beyond all bounds', 'a: 1\n', { a: 2 ** 60 }, /is too large to be kept exactly$/],
])('%s', (_what, before, wanted, reason) => {
  expect(editText(before, wanted)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
});

test('a value that is too deep', () => {
  let deep: JsonMap = { a: 1 };
  for (let depth = 0; depth < 100_000; depth++) deep = { a: deep };
  const reason = 'a file holds no more than 64 maps and lists inside one another';
  expect(editText('a: 1\n', deep)).toEqual({ ok: false, reason });
});
