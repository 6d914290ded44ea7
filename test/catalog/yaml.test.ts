import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { quote } from '../../src/base/wording.ts';
import { parseYaml } from '../../src/catalog/yaml.ts';
import { below } from '../../src/model/entry.ts';
import { isMap, type Json } from '../../src/model/json.ts';
import { countRuns } from '../support/count-runs.ts';

function problemsOf(source: Uint8Array | string): string[] {
  return parseYaml('a.yaml', source).problems.map(
    ({ line, column, code, pointer, message }) => `${line}:${column} ${code} ${pointer} ${message}`,
  );
}

describe('values', () => {
  test.each([
    ['a: 1\nb: -2.5\nc: true\nd: null\ne: ~\nf:\n', { a: 1, b: -2.5, c: true, d: null, e: null, f: null }],
    ['a: yes\nb: off\nc: 2026-11-20\nd: 1:30\n', { a: 'yes', b: 'off', c: '2026-11-20', d: '1:30' }],
    ['a: 1e\nb: 0X1F\nc: .e4\nd: 1_0e400\n', { a: '1e', b: '0X1F', c: '.e4', d: '1_0e400' }],
    ['a: "1.10"\nb: \'it\'\'s\'\nc: "\\u00e9\\n"\n', { a: '1.10', b: "it's", c: 'é\n' }],
    ['a: |\n  x\n  y\nb: >-\n  x\n  y\n', { a: 'x\ny\n', b: 'x y' }],
    ['1: a\nnull: b\n1.10: c\ntrue: d\n', { '1': 'a', null: 'b', '1.10': 'c', true: 'd' }],
    ['a: <<zone>>-<<index>>\n<<zone>>: 1\n"<<": 2\n', { a: '<<zone>>-<<index>>', '<<zone>>': 1, '<<': 2 }],
    ['constructor: a\ntoString: b\n', { constructor: 'a', toString: 'b' }],
    ['--- # first\na: {b: [c, {d: e}]}\n...\n', { a: { b: ['c', { d: 'e' }] } }],
    ['- 1\n- [2]\n', [1, [2]]],
    ['%YAML 1.2\n---\na: b\n', { a: 'b' }],
    ['just text', 'just text'],
  ])('%j', (text, value) => {
    const document = parseYaml('a.yaml', text);
    expect(document.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(document.value).toEqual(value);
    expect(document.text).toBe(text);
  });

  test('maps have no prototype', () => {
    const { value } = parseYaml('a.yaml', 'a: {b: c}');
    expect(isMap(value) && Object.getPrototypeOf(value)).toBe(null);
    expect(isMap(value) && Object.getPrototypeOf(value.a)).toBe(null);
  });

  test('parseYaml reads JSON with the place of every value', () => {
    const key = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((text) => !/^__proto__$|\0/.test(text));
    const text = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((string) => !string.includes('\0'));
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(key, tree, { minKeys: 1, maxKeys: 5 }), (value) => {
        const written = JSON.stringify(value, null, 1);
        const document = parseYaml('a.yaml', written);
        expect(document.problems).toEqual([]);
        expect(document.value).toEqual(value);
        const lines = written.split('\n');
        for (const [pointer, part] of partsOf(value)) {
          const { line, column } = document.locate(pointer);
          const rest = [lines[line - 1]?.slice(column - 1), ...lines.slice(line)].join('\n');
          expect(rest.replace(/\s/g, '').startsWith(JSON.stringify(part).replace(/\s/g, ''))).toBe(true);
        }
      }),
      { numRuns: countRuns(60) },
    );
  });
});

function* partsOf(value: Json, pointer = ''): Generator<[pointer: string, value: Json]> {
  yield [pointer, value];
  if (isMap(value)) for (const [key, part] of Object.entries(value)) yield* partsOf(part, below(pointer, key));
  else if (Array.isArray(value))
    for (const [index, part] of value.entries()) yield* partsOf(part, below(pointer, index));
}

describe('parseYaml refuses', () => {
  test.each([
    ['', ['1:1 file_empty  the file is empty']],
    ['# only a comment\n', ['1:1 file_empty  the file is empty']],
    ['---\n', ['1:1 file_empty  the file is empty']],
    ['a: 1\nb: *x', ['2:4 yaml_anchor /b the alias "*x" is not supported']],
    ['&k a: 1', ['1:1 yaml_anchor  the anchor "&k" is not supported']],
    ['a: !!str 1', ['1:4 yaml_tag /a the tag "!!str" is not supported']],
    ['a: 1\n  \n__proto__: {b: 1}', ['3:1 yaml_key /__proto__ the key "__proto__" is reserved']],
    ['{a: 1}: 2', ['1:1 yaml_key  a key has to be a plain text, not a map or a list']],
    ['? [a]\n: 1\nb: 2', ['1:3 yaml_key  a key has to be a plain text, not a map or a list']],
    [
      'a: 1\nb: {c: 1, "c": 2}\na: 2\na: 3',
      [
        '2:11 duplicate_key /b/c the key "c" is repeated; it was first set in line 2',
        '3:1 duplicate_key /a the key "a" is repeated; it was first set in line 1',
        '4:1 duplicate_key /a the key "a" is repeated; it was first set in line 1',
      ],
    ],
    [
      '--- \na: 1\n---\nb: 2\n--- \n',
      ['3:1 yaml_documents  a second document begins here, but a file contains one object'],
    ],
    ['a: 1\n...\nb: 2', ['3:1 yaml_documents  a second document begins here, but a file contains one object']],
    ['a: 1\n---\n', ['2:1 yaml_documents  a second document begins here, but a file contains one object']],
    [
      'a: 1e400\nb: [-1E+999, +.5e400]\nc: 1.5e309',
      [
        '1:4 unsafe_number /a "1e400" is not a number that JSON can represent',
        '2:5 unsafe_number /b/0 "-1E+999" is not a number that JSON can represent',
        '2:14 unsafe_number /b/1 "+.5e400" is not a number that JSON can represent',
        '3:4 unsafe_number /c "1.5e309" is not a number that JSON can represent',
      ],
    ],
    ...[`${'1'.repeat(310)}`, `-${'9'.repeat(310)}.5`, `0x${'f'.repeat(300)}`, `0o${'7'.repeat(400)}`].map(
      (written): [string, string[]] => [
        `a: ${written}`,
        [`1:4 unsafe_number /a ${quote(written)} is not a number that JSON can represent`],
      ],
    ),
    [`a: 0.${'9'.repeat(1000)}`, [`1:4 number_spelling /a 0.${'9'.repeat(38)}… is read as the number 1`]],
    [
      'a: 1.10\nb: 010\nc: 0o10\nd: +5',
      [
        '1:4 number_spelling /a 1.10 is read as the number 1.1',
        '2:4 number_spelling /b 010 is read as the number 10',
        '3:4 number_spelling /c 0o10 is read as the number 8',
        '4:4 number_spelling /d +5 is read as the number 5',
      ],
    ],
    [
      'a: "\\0"',
      ['1:4 yaml_character /a the text contains an escape that is not a character: NUL or half of a surrogate pair'],
    ],
    [
      '"\\ud800": 1',
      [
        '1:1 yaml_character /\ud800 the text contains an escape that is not a character: NUL or half of a surrogate pair',
      ],
    ],
    [`a: ${'['.repeat(70)}${']'.repeat(70)}`, ['1:67 yaml_depth  the file is nested deeper than 64 levels']],
  ])('%j', (text, problems) => {
    expect(problemsOf(text)).toEqual(problems);
  });

  test('parseYaml refuses a file of half a million values, and accepts one of 40,000', () => {
    const listOf = (count: number): string => `a: [${'1,'.repeat(count)}1]`;
    expect(problemsOf(listOf(500_000))).toEqual([
      '1:1 yaml_values  the file contains more than 50,000 keys and values',
    ]);
    expect(problemsOf(listOf(40_000))).toEqual([]);
  });

  test.each([
    ['a byte of Latin-1', [...Buffer.from('a: 1\nb: zw\xf6lf', 'latin1')], '1:1 not_utf8  the file is not UTF-8'],
    ['a truncated character at the end', [...Buffer.from('a: '), 0xc3], '1:1 not_utf8  the file is not UTF-8'],
    ['UTF-16', [0xff, 0xfe, 0x61, 0x00], '1:1 not_utf8  the file is not UTF-8'],
    [
      'a zero byte',
      [...Buffer.from('a: x'), 0],
      '1:5 yaml_syntax  this is not YAML: null byte is not allowed in input',
    ],
  ])('%s', (_, bytes, problem) => {
    expect(problemsOf(Uint8Array.from(bytes))).toEqual([problem]);
  });

  test('parseYaml refuses a file of more than 1 MiB, as bytes and as text', () => {
    const text = `a #${'x'.repeat(1024 * 1024)}`;
    expect(problemsOf(Buffer.from(text))).toEqual([
      '1:1 file_too_large  the file is larger than 1 MiB (1048579 bytes)',
    ]);
    expect(problemsOf(Buffer.from(text.slice(0, 1024 * 1024)))).toEqual([]);
  });

  test('an unreadable file still has places', () => {
    const document = parseYaml('a.yaml', Uint8Array.of(0xff));
    expect(document.value).toBeUndefined();
    expect(document.text).toBe(null);
    expect(document.locate('/a/b')).toEqual({ line: 1, column: 1 });
    expect(document.writtenAt('/a')).toBe(null);
  });
});

describe('places', () => {
  const text = [
    '# comment',
    'a:',
    '  b: |',
    '    block',
    '  "c/d~e": "quoted"',
    '  empty:',
    '  list: [1, {g: 1.10}]',
    "  'single': 'x'",
    'items:',
    '- one',
    '- two: 2',
    '  three: !tag 3',
  ].join('\n');

  test.each([
    ['', '2:1', '2:1'],
    ['/a', '3:3', '2:1'],
    ['/a/b', '4:5', '3:3'],
    ['/a/c~1d~0e', '5:12', '5:3'],
    ['/a/empty', '6:3', '6:3'],
    ['/a/list', '7:9', '7:3'],
    ['/a/list/0', '7:10', '7:10'],
    ['/a/list/1', '7:13', '7:13'],
    ['/a/list/1/g', '7:17', '7:14'],
    ['/a/single', '8:13', '8:3'],
    ['/items', '10:1', '9:1'],
    ['/items/1', '11:3', '11:3'],
    ['/items/1/three', '12:15', '12:3'],
    ['/a/nothing', '3:3', '2:1'],
    ['/nothing/at/all', '2:1', '2:1'],
  ])('%s', (pointer, value, key) => {
    for (const written of [text, text.replaceAll('\n', '\r\n'), text.replaceAll('\n', '\r')]) {
      const { locate } = parseYaml('a.yaml', written);
      const [ofValue, ofKey] = [locate(pointer), locate(pointer, 'key')];
      expect([`${ofValue.line}:${ofValue.column}`, `${ofKey.line}:${ofKey.column}`]).toEqual([value, key]);
    }
  });

  test('the place of an empty value is after its key', () => {
    const { locate } = parseYaml('a.yaml', '- a\n-\n- b: \n  c:\n');
    expect([locate('/1'), locate('/2/b'), locate('/2/c')]).toEqual([
      { line: 1, column: 3 },
      { line: 3, column: 3 },
      { line: 4, column: 3 },
    ]);
  });

  test('the place of an empty block is its beginning', () => {
    expect(parseYaml('a.yaml', 'a: |\nb: 1').locate('/a')).toEqual({ line: 2, column: 1 });
  });

  test('a plain scalar keeps its source text', () => {
    const { writtenAt } = parseYaml('a.yaml', 'a: 1.10\nb: "1.10"\nc: [x]\nd:\n');
    expect(['/a', '/b', '/c', '/d', '/e'].map(writtenAt)).toEqual(['1.10', null, null, null, null]);
  });
});
