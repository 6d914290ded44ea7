import { describe, expect, test } from 'vitest';
import { parseYaml } from '../../src/catalog/yaml.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { editText } from './edit-text.ts';

/** Text before, what is wanted, text after. */
type Triple = readonly [what: string, before: string, wanted: JsonMap, after: string];

function check(_what: string, before: string, wanted: JsonMap, after: string): void {
  expect(editText(before, wanted)).toEqual({ ok: true, text: after });
  expect(parseYaml('a.yaml', after).value).toEqual(wanted);
}

describe('a changed scalar', () => {
  test.each<Triple>([
    ['plain', 'a: x # c\n', { a: 'u' }, 'a: u # c\n'],
    ['single quotes', "a: 'x' # c\n", { a: "it's 1.10" }, "a: 'it''s 1.10' # c\n"],
    ['double quotes', 'a: "x" # c\n', { a: 'u "z"' }, 'a: "u \\"z\\"" # c\n'],
    ['below its key', 'a: # c\n  x # d\n', { a: 'u' }, 'a: # c\n  u # d\n'],
    ['in brackets', 'a: {x: 1, u: [b, "c"]}\n', { a: { x: 2, u: ['[', 'd'] } }, 'a: {x: 2, u: ["[", "d"]}\n'],
    ['a text of several lines', 'a: x # c\nb: 1\n', { a: 'u\nz\n', b: 1 }, 'a: | # c\n  u\n  z\nb: 1\n'],
    ['literal', 'a: | # c\n  x\n  u\n\nb: 1\n', { a: 'x\nz\n', b: 1 }, 'a: | # c\n  x\n  z\n\nb: 1\n'],
    ['folded', 'a: >-\n  x\n  u\nb: 1\n', { a: 'x u z', b: 1 }, 'a: >-\n  x u z\nb: 1\n'],
  ])('%s', check);
});

const MAP = `# Of the whole file
a:   1 # one

# About b,
# two lines
b: 2
  # further in: about b, too
# About c
c:
  # About d
  d: 3

  # Of all that follows

  # About e
  e: 4 # four
  # At the end of c
f: 5
`;

describe('a changed map', () => {
  test.each<Triple>([
    [
      'loses a key with its comments',
      MAP,
      { a: 1, c: { d: 3, e: 4 }, f: 5 },
      MAP.replace(/\n# About b[\s\S]*(?=# About c)/, ''),
    ],
    [
      'loses nested keys, but keeps comments that belong to no key',
      MAP,
      { a: 1, b: 2, c: { g: 1 }, f: 5 },
      MAP.replace(/ {2}# About d\n.*\n\n/, '  g: 1\n').replace('  # About e\n  e: 4 # four\n', ''),
    ],
    [
      'loses a key before two others, and keeps a free comment once',
      'a: 1\n# Of none\n\n# About b\nb: 2\nc: 3\nd: 4\n',
      { a: 1, c: 3, d: 4 },
      'a: 1\n# Of none\n\nc: 3\nd: 4\n',
    ],
    [
      'gets a nested key, before comments at its end',
      MAP,
      { a: 1, b: 2, c: { d: 3, e: 4, g: ['x'], h: { i: {} } }, f: 5 },
      MAP.replace('# four\n', '# four\n  g:\n    - x\n  h:\n    i: {}\n'),
    ],
    ['becomes empty', 'a: # c\n  x: 1\n  # d\nb: 1\n', { a: {}, b: 1 }, 'a: # c\n  # d\n  {}\nb: 1\n'],
    ['indents like the file', 'a:\n    b: 1\nc: x\n', { a: { b: 1 }, c: { d: 1 } }, 'a:\n    b: 1\nc:\n    d: 1\n'],
    ['in braces loses and gets a key', 'a: { b: 1, c: 2 }\n', { a: { b: 1, d: 3 } }, 'a: { b: 1, d: 3 }\n'],
  ])('%s', check);
});

const LIST = `tags:
  # About a
  -   a # first

  - b
  # Of none

  # About c
  - c
  # At the end
next: 1
`;

function tags(...values: readonly string[]): JsonMap {
  return { tags: values, next: 1 };
}

describe('a changed list', () => {
  test.each<Triple>([
    ['gets an item in front', LIST, tags('0', 'a', 'b', 'c'), LIST.replace('  # About a', '  - "0"\n  # About a')],
    [
      'is sorted',
      LIST,
      tags('c', 'a', 'b'),
      LIST.replace(/ {2}# About c\n.*\n/, '').replace('  # About a', '  - c\n  # About a'),
    ],
    ['has quotes', "a:\n  - 'x'\n", { a: ['x', 'u'] }, "a:\n  - 'x'\n  - 'u'\n"],
    ['has its dashes below the key', 'a:\n- x\nb: q\n', { a: ['x', 'u'], b: ['z'] }, 'a:\n- x\n- u\nb:\n- z\n'],
    [
      'is filled',
      'a: [] # c\nb: []\n',
      { a: ['x'], b: [{ c: 1, d: 2 }] },
      'a:\n  # c\n  - x\nb:\n  - c: 1\n    d: 2\n',
    ],
    ['in brackets gets an item in front', 'a: [ x ]\n', { a: ['0', 'x'] }, 'a: [ "0", x ]\n'],
    [
      'in brackets on several lines',
      'a:\n  [\n    x, # c\n    u\n  ]\n',
      { a: ['x', 'u', 'z'] },
      'a:\n  [\n    x, # c\n    u,\n    z\n  ]\n',
    ],
  ])('%s', check);
});

const NODES = `children:
  # The first
  - name: a
    type: zone # c
  - name: b

    # About the type
    type: zone
    children:
      - { name: x, type: zone }
  # The last
  - name: c
`;

const [A, B, C] = [
  { name: 'a', type: 'zone' },
  { name: 'b', type: 'zone', children: [{ name: 'x', type: 'zone' }] },
  { name: 'c' },
];

describe('a changed list of maps', () => {
  test.each<Triple>([
    [
      'loses an item while another changes',
      NODES,
      { children: [{ ...B, type: 'location' }, C] },
      NODES.replace(/ {2}# The first\n.*\n.*\n/, '').replace('\n    type: zone\n', '\n    type: location\n'),
    ],
    [
      'gets an item in braces',
      NODES,
      { children: [A, { ...B, children: [...B.children, C] }, C] },
      NODES.replace(/(\n {6}- ){ name: x.*/, '$&$1{ name: c }'),
    ],
  ])('%s', check);
});

describe('the text around a change', () => {
  test.each<Triple>([
    ['no last line end, last key gone', 'a: 1\nb: 2', { a: 1 }, 'a: 1'],
    [
      'CR LF',
      'a: |\r\n  x\r\nb:\r\n  - c\r\n',
      { a: 'x\nu\n', b: ['c', { d: 1, e: 2 }] },
      'a: |\r\n  x\r\n  u\r\nb:\r\n  - c\r\n  - d: 1\r\n    e: 2\r\n',
    ],
    ['a byte order mark', '\uFEFFa: 1\n', { a: 2, b: 3 }, '\uFEFFa: 2\nb: 3\n'],
    ['markers', '%YAML 1.2\n--- # c\n# d\na: 1\n...\n', { b: 2 }, '%YAML 1.2\n--- # c\n# d\nb: 2\n...\n'],
  ])('%s', check);
});

test('editText edits a file of 4,000 lines', () => {
  const key = (index: number): string => `key-${index}:\n  # About ${index}\n  - "one" # c\n  - { a: b }\n`;
  const before = Array.from({ length: 1_000 }, (_, index) => key(index)).join('');
  const after = before.replace('# About 777\n  - "one"', '# About 777\n  - "two"');
  const { value } = parseYaml('a.yaml', after);
  expect(editText(before, Object.assign(Object.create(null), value))).toEqual({ ok: true, text: after });
});

const SIZES = Array.from({ length: 1_100 }, (_, index) => index);

test.each<readonly [what: string, before: string, wanted: JsonMap, reason: RegExp]>([
  ['an anchor', 'a: &x 1\n', { a: 2 }, /^the file has a mistake already: line 1: the anchor "&x" is not supported$/],
  ['no YAML', 'a: [\n', { a: 2 }, /^the file has a mistake already: line 1: the \[ here is not closed$/],
  ['no map', '- a\n', { a: 2 }, /^the file contains no map of keys and values$/],
  ['line ends of old Macintosh files', 'a: 1\rb: 2\r', { a: 2, b: 2 }, /^line 1: Nested mappings are not allowed/],
  ['a file that the strict parser refuses', '\t---\na: 1\n', { a: 2 }, /^line 1: Tabs are not allowed as indentation$/],
  [
    'mixed indentation',
    'a:\n  b:\n      c: 1\n',
    { a: { b: { c: 1, d: 1 } } },
    /^other values .*: line 4: .*bad indent/,
  ],
  [
    'a character that no file can contain',
    'a: 1\n',
    { a: 'x\0' },
    /other values .*: line 1: the text contains an escape/,
  ],
  ['an empty key', 'a: 1\n', { a: 1, '': 1 }, /: line 2: a key is empty$/],
  [
    'a long reversed list',
    `a:\n${SIZES.map((size) => `  - ${size}\n`).join('')}`,
    { a: SIZES.toReversed() },
    /^too many of its lines change at once$/,
  ],
  ['a number that is too large', 'a: 1\n', { a: 2 ** 60 }, /is too large to be kept exactly$/],
])('%s is refused', (_what, before, wanted, reason) => {
  expect(editText(before, wanted)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
});
