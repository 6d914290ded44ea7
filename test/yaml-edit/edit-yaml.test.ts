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
    ['a text that would read as a number', 'a: x\n', { a: '1.10' }, 'a: "1.10"\n'],
    ['a text that others read as a boolean', 'a: x\n', { a: 'no' }, 'a: "no"\n'],
    ['a text with quotes of its own', 'a: x\n', { a: '"x": \\u' }, 'a: \'"x": \\u\'\n'],
    ['a number for a text in quotes', 'a: "1"\n', { a: 1 }, 'a: 1\n'],
    ['a text over two lines', 'a: x\n  u\nb: "x\n  u" # c\n', { a: 'z', b: 'z' }, 'a: z\nb: "z" # c\n'],
    ['below its key', 'a: # c\n  x # d\n', { a: 'u' }, 'a: # c\n  u # d\n'],
    ['in brackets', 'a: {x: 1, u: [b, "c"]}\n', { a: { x: 2, u: ['[', 'd'] } }, 'a: {x: 2, u: ["[", "d"]}\n'],
    ['null in brackets', 'a: {x, u:, z: }\n', { a: { x: 1, u: 2, z: 3 } }, 'a: {x: 1, u: 2, z: 3 }\n'],
    ['JSON', '{"a": 1, "b": x}\n', { a: 'u', b: 'z' }, '{"a": "u", "b": "z"}\n'],
    ['a text of several lines', 'a: x # c\nb: 1\n', { a: 'u\nz\n', b: 1 }, 'a: | # c\n  u\n  z\nb: 1\n'],
  ])('%s', check);

  test.each<Triple>([
    ['literal', 'a: | # c\n    x\n    u\n\nb: 1\n', { a: 'x\nz\n', b: 1 }, 'a: | # c\n  x\n  z\n\nb: 1\n'],
    ['literal without text', 'a: |\n\nb: 1\n', { a: 'x\n', b: 1 }, 'a: |\n  x\n\nb: 1\n'],
    ['literal that cannot hold it', 'a: | # c\n  x\n', { a: ' x\n' }, 'a: " x\\n" # c\n'],
    ['literal and a map', 'a: | # c\n  x\nb: 1\n', { a: { c: 1 }, b: 1 }, 'a: # c\n  c: 1\nb: 1\n'],
    ['literal with empty lines at its end', 'a: |+\n  x\n\nb: 1\n', { a: 'u\n', b: 1 }, 'a: |\n  u\nb: 1\n'],
    ['folded', 'a: >-\n  x\n  u\nb: 1\n', { a: 'x u z', b: 1 }, 'a: >-\n  x u z\nb: 1\n'],
    ['folded, with line ends', 'a: >\n  x\n', { a: 'x\nu\n\nz\n' }, 'a: >\n  x\n\n  u\n\n\n  z\n'],
  ])('%s', check);
});

const MAP = `# Of the whole file
a: 1 # one

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

describe('a map', () => {
  test.each<Triple>([
    [
      'loses a key with its comments',
      MAP,
      { a: 1, c: { d: 3, e: 4 }, f: 5 },
      MAP.replace(/# About b[\s\S]*(?=# About c)/, ''),
    ],
    [
      'gets a nested key, before comments at its end',
      MAP,
      { a: 1, b: 2, c: { d: 3, e: 4, g: ['x'], h: { i: {} } }, f: 5 },
      MAP.replace('# four\n', '# four\n  g:\n    - x\n  h:\n    i: {}\n'),
    ],
    [
      'becomes empty, comments that belong to no key stay',
      MAP,
      { a: 1, b: 2, c: {}, f: 5 },
      MAP.replace('c:\n', 'c: {}\n')
        .replace(/ {2}# About d\n.*\n/, '')
        .replace(/ {2}# About e\n.*\n/, ''),
    ],
    ['loses the first key below a blank line', '# a\n\n# b\nb: 1\nc: 1\n', { c: 1 }, '# a\n\nc: 1\n'],
    ['has other keys in the whole file', '# a\nb: 1 # c\nc: 1\n', { d: 1, e: 2 }, '# a\nd: 1\ne: 2\n'],
    ['is filled', 'a: {}\nb: {} # c\n', { a: { x: 1 }, b: { u: 2 } }, 'a:\n  x: 1\nb: # c\n  u: 2\n'],
    ['is filled at the root', '{} # c\n', { a: 1, b: 2 }, 'a: 1\nb: 2 # c\n'],
    ['indents as the file does', 'a:\n    b: 1\nc: x\n', { a: { b: 1 }, c: { d: 1 } }, 'a:\n    b: 1\nc:\n    d: 1\n'],
    ['has strange keys', 'a: 1\n', { a: 1, 'x: u': 1, '1': 2, '- z': 3 }, 'a: 1\n"1": 2\n"x: u": 1\n"- z": 3\n'],
  ])('%s', check);

  test.each<Triple>([
    ['loses its first key', 'a: { b: 1, c: 2, d: 3 }\n', { a: { d: 3 } }, 'a: { d: 3 }\n'],
    ['loses one and gets one', 'a: { b: 1, c: 2 }\n', { a: { b: 1, d: 3 } }, 'a: { b: 1, d: 3 }\n'],
    ['becomes empty', 'a: { b: 1 }\n', { a: {} }, 'a: {}\n'],
    ['is JSON', '{"a": {"b": 1}}\n', { a: { b: 1, c: ['x'] } }, '{"a": {"b": 1, "c": ["x"]}}\n'],
  ])('in braces %s', check);
});

const LIST = `tags: # all of them
  # About a
  - a # first

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

describe('a list', () => {
  test.each<Triple>([
    ['changes an item', LIST, tags('a', 'x', 'c'), LIST.replace('- b', '- x')],
    ['loses its first item', LIST, tags('b', 'c'), LIST.replace('  # About a\n  - a # first\n', '')],
    ['gets one in front', LIST, tags('0', 'a', 'b', 'c'), LIST.replace('  # About a', '  - "0"\n  # About a')],
    [
      'is sorted anew',
      LIST,
      tags('c', 'a', 'b'),
      LIST.replace(/ {2}# About c\n.*\n/, '').replace('  # About a', '  - c\n  # About a'),
    ],
    ['becomes empty', LIST, tags(), 'tags: [] # all of them\n\n  # Of none\n\n  # At the end\nnext: 1\n'],
    ['has quotes', "a:\n  - 'x'\n", { a: ['x', 'u'] }, "a:\n  - 'x'\n  - 'u'\n"],
    ['has its dashes below the key', 'a:\n- x\nb: q\n', { a: ['x', 'u'], b: ['z'] }, 'a:\n- x\n- u\nb:\n- z\n'],
    ['is filled', 'a: [] # c\nb: []\n', { a: ['x'], b: [{ c: 1, d: 2 }] }, 'a: # c\n  - x\nb:\n  - c: 1\n    d: 2\n'],
    ['becomes a map', 'a: # c\n  - x\n  # d\nb: 1\n', { a: { c: 1 }, b: 1 }, 'a: # c\n  c: 1\n  # d\nb: 1\n'],
    ['takes the place of a text', 'a: x # c\nb: y\n', { a: ['x'], b: ['u', 'z'] }, 'a: # c\n  - x\nb:\n  - u\n  - z\n'],
    [
      'of lists',
      'a:\n  - - x\n    - u\n  -\n    - z\n',
      { a: [['u'], ['z', '1']] },
      'a:\n  - - u\n  -\n    - z\n    - "1"\n',
    ],
    [
      'of lists loses two',
      'a:\n  - - x\n\n    # of none\n\n    - u\n    - z\n',
      { a: [['z']] },
      'a:\n  -\n\n    # of none\n\n    - z\n',
    ],
  ])('%s', check);

  test.each<Triple>([
    ['gets one in front', 'a: [ x ]\n', { a: ['0', 'x'] }, 'a: [ "0", x ]\n'],
    ['becomes empty', 'a: [ x, u, ] # c\n', { a: [] }, 'a: [] # c\n'],
    ['becomes a map', 'a: [x] # c\n', { a: { b: 1 } }, 'a: # c\n  b: 1\n'],
    ['goes over several lines', 'a: [x, u, # c\n  z,\n  ]\n', { a: ['x', 'u', '1'] }, 'a: [x, u, # c\n  "1",\n  ]\n'],
  ])('in brackets %s', check);
});

const LINES = `a: [ # all
    # About x
    x, # first
    u,

    # About z
    z # last, # at all,
    # At the end
  ]
`;

describe('a list in brackets with a line for every item', () => {
  test.each<Triple>([
    ['loses one', 'a: [\n  x,\n  u,\n  z\n ]\n', { a: ['x', 'z'] }, 'a: [\n  x,\n  z\n ]\n'],
    ['gets one in front', LINES, { a: ['q', 'x', 'u', 'z'] }, LINES.replace('    # About x', '    q,\n    # About x')],
    ['keeps a last comma', 'a: [\n  x,\n ]\n', { a: ['x', 'u'] }, 'a: [\n  x,\n  u,\n ]\n'],
    [
      'JSON',
      '{\n  "a": 1, # c\n  "b": {\n    "c": 2\n  }\n}\n',
      { a: 1, b: { c: 2, d: 'x' }, e: null },
      '{\n  "a": 1, # c\n  "b": {\n    "c": 2,\n    "d": "x"\n  },\n  "e": null\n}\n',
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

describe('a list of maps', () => {
  test.each<Triple>([
    ['loses one', NODES, { children: [A, C] }, NODES.replace(/ {2}- name: b[\s\S]*(?= {2}# The last)/, '')],
    [
      'loses one while another changes',
      NODES,
      { children: [{ ...B, type: 'location' }, C] },
      NODES.replace(/ {2}# The first\n.*\n.*\n/, '').replace('\n    type: zone\n', '\n    type: location\n'),
    ],
    [
      'gets one in braces',
      NODES,
      { children: [A, { ...B, children: [...B.children, C] }, C] },
      NODES.replace(/(\n {6}- ){ name: x.*/, '$&$1{ name: c }'),
    ],
    [
      'loses a first key',
      NODES,
      { children: [{ type: 'zone' }, B, C] },
      NODES.replace('- name: a\n    type', '- type'),
    ],
    [
      'loses two first keys, and keeps a blank line',
      NODES,
      { children: [A, { children: B.children }, C] },
      NODES.replace(/- name: b\n\n.*\n.*\n/, '-\n\n'),
    ],
    [
      'gets keys',
      NODES,
      { children: [{ ...A, x: 1 }, B, { ...C, u: { z: [1] } }] },
      `${NODES.replace('# c\n', '# c\n    x: 1\n')}    u:\n      z:\n        - 1\n`,
    ],
    ['has a map become a text', NODES, { children: ['x', B, C] }, NODES.replace(/name: a\n.*/, 'x')],
    [
      'has a map become another',
      NODES,
      { children: [{ x: 1, u: 2 }, B, C] },
      NODES.replace(/name: a\n.*/, 'x: 1\n    u: 2'),
    ],
    ['has a text become a map', 'a:\n  -   x # c\n', { a: [{ b: 1, c: 2 }] }, 'a:\n  - b: 1 # c\n    c: 2\n'],
  ])('%s', check);
});

describe('what is around', () => {
  test.each<Triple>([
    ['nothing to change', 'a: 1.0 # c', { a: 1 }, 'a: 1.0 # c'],
    ['no last line end, last key gone', 'a: 1\nb: 2', { a: 1 }, 'a: 1'],
    [
      'CR LF',
      'a: |\r\n  x\r\nb:\r\n  - c\r\n',
      { a: 'x\nu\n', b: ['c', { d: 1, e: 2 }] },
      'a: |\r\n  x\r\n  u\r\nb:\r\n  - c\r\n  - d: 1\r\n    e: 2\r\n',
    ],
    ['a byte order mark', '\uFEFFa: 1\n', { a: 2, b: 3 }, '\uFEFFa: 2\nb: 3\n'],
    ['markers', '%YAML 1.2\n--- # c\n# d\na: 1\n...\n', { b: 2 }, '%YAML 1.2\n--- # c\n# d\nb: 2\n...\n'],
    ['blank lines at the end', 'a:\n  b: |\n    x\n\n\n', { a: { b: 'x\n', c: 1 } }, 'a:\n  b: |\n    x\n  c: 1\n\n\n'],
    [
      'keys of Object.prototype',
      'a: 1\n',
      { a: 1, constructor: 1, toString: 2 },
      'a: 1\nconstructor: 1\ntoString: 2\n',
    ],
  ])('%s', check);
});

test('a large file', () => {
  const key = (index: number): string => `key-${index}:\n  # About ${index}\n  - "one" # c\n  - { a: b }\n`;
  const before = Array.from({ length: 5_000 }, (_, index) => key(index)).join('');
  const after = before.replace('# About 777\n  - "one"', '# About 777\n  - "two"');
  const { value } = parseYaml('a.yaml', after);
  expect(editText(before, Object.assign(Object.create(null), value))).toEqual({ ok: true, text: after });
});
