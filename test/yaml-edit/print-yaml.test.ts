import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseYaml } from '../../src/catalog/yaml.ts';
import type { Json, JsonMap } from '../../src/model/json.ts';
import { writeYaml } from '../../src/yaml-edit/print-yaml.ts';
import { countRuns } from '../support/count-runs.ts';

const MODELINE = '# yaml-language-server: $schema=../../schemas/zone.schema.json';

/** Returns how a value is written behind the key `a`. */
function written(value: Json): string {
  return writeYaml({ a: value }, '#').slice('#\na: '.length, -1);
}

describe('writeYaml', () => {
  test('writes the modeline, then the keys in their order, in blocks of two spaces', () => {
    const object = {
      name: 'shop',
      empty: {},
      none: [],
      parameters: { zone: 'internal', 'Platform::Server': '<<name>>-<<index>>' },
      list: ['a', { b: 'c', d: ['e', []] }, [1, [2, {}]], null],
      description: 'First line\n\n  indented: # no comment\nlast',
      count: 3,
    };
    expect(writeYaml(object, MODELINE)).toBe(`${MODELINE}
name: shop
empty: {}
none: []
parameters:
  zone: internal
  Platform::Server: <<name>>-<<index>>
list:
  - a
  - b: c
    d:
      - e
      - []
  - - 1
    - - 2
      - {}
  - null
description: |-
  First line

    indented: # no comment
  last
count: 3
`);
  });

  test('writes an empty object', () => {
    expect(writeYaml({}, MODELINE)).toBe(`${MODELINE}\n{}\n`);
  });

  test.each([
    ...'1.10 0123 10 -1 +.5 1e3 1. 0x1F 0o17 0b1 1_000 1,000 .inf -.INF .nan'.split(' '),
    ...'no Yes ON off n Y true False null Null ~ << ='.split(' '),
    ...'2026-11-20 2026-11-20T10:00:00Z 1:30 10:20:30.5 00:11:22:33:44:55'.split(' '),
    ...'#x x: @x %x `x` &x *x !x | >x - ? [x] {x} ] } ... \u00a0x x\u200b \ufffe \uffff'.split(' '),
    ...['', ' x', 'x ', 'x #y', 'x: y', ': x', '- x', '--- x', '? x', ', x', "'x'", '... x', '2026-1-2 10:00'],
  ])('quotes %j', (text) => {
    expect(written(text)).toMatch(/^(["']).*\1$/);
    expect(parseYaml('a.yaml', writeYaml({ a: text, [text === '' ? 'b' : text]: 1 }, '#')).value).toEqual({
      a: text,
      [text === '' ? 'b' : text]: 1,
    });
  });

  test.each([
    ...'x shop-1 10.20.2.5 1.9.2 3rd x:y x#y f(x) Größe -Xmx1g https://example.com/?a=[b]&c={d}#e'.split(' '),
    ...'/etc/hosts <<name>> <<<x>> ~root 日本語 .hidden nope _1'.split(' '),
    ...['a b', '10 GiB', "it's", 'a, b'],
  ])('does not quote %j', (text) => {
    expect(written(text)).toBe(text);
    expect(parseYaml('a.yaml', `a: ${text}`).value).toEqual({ a: text });
  });

  test.each<readonly [Json, string]>([
    ['"x" and \\y', `'"x" and \\y'`],
    [`"it's"`, `"\\"it's\\""`],
    ['\ttab', '"\\ttab"'],
    ['\u0001\u007f\u0085\u061c\u200e\u2028\ufeff', '"\\x01\\u007f\\u0085\\u061c\\u200e\\u2028\\ufeff"'],
    ['\ttab\r\u0001', '"\\ttab\\r\\x01"'],
    ['one\n', '|\n  one'],
    ['one\n\ntwo', '|-\n  one\n\n  two'],
    ['\none', '"\\none"'],
    [' one\ntwo', '" one\\ntwo"'],
    ['one \ntwo', '"one\\ \\ntwo"'],
    ['one\n\n', '"one\\n\\n"'],
    ['one\r\ntwo', '"one\\r\\ntwo"'],
    ['# one\n--- two\n', '|\n  # one\n  --- two'],
    [1.5e-7, '1.5e-7'],
    [false, 'false'],
  ])('writes %j', (value, text) => {
    expect(written(value)).toBe(text);
  });

  test('prints every value so that it reads the same', () => {
    const text = fc
      .oneof(
        fc.string({ unit: 'binary', maxLength: 20 }),
        fc.string({
          unit: fc.constantFrom(...' \t\n\r:#-?,[]{}&*!|>\'"%@`\\~<=.019_eExoyn\u00a0\u2028é'),
          maxLength: 8,
        }),
        fc.array(fc.constantFrom('\n', '  ', 'a', '#', ' b', '- '), { maxLength: 8 }).map((parts) => parts.join('')),
      )
      .filter((string) => !string.includes('\0'));
    const key = text.filter((string) => string !== '' && string !== '__proto__');
    const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        { weight: 4, arbitrary: text },
        fc.oneof(
          fc.maxSafeInteger(),
          fc.double({ noNaN: true, min: -1e15, max: 1e15 }),
          fc.boolean(),
          fc.constant(null),
        ),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(key, tree, { maxKeys: 5 }), (object: JsonMap) => {
        const document = parseYaml('a.yaml', writeYaml(object, MODELINE));
        expect(document.problems).toEqual([]);
        expect(document.value).toEqual(JSON.parse(JSON.stringify(object)));
      }),
      { numRuns: countRuns(1_000) },
    );
  });
});
