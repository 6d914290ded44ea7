// The limits of keys and texts, in files of every type.
import { describe, expect, test } from 'vitest';
import { parseEntry } from '../../src/catalog/parse-entry.ts';

const KEY = 'k'.repeat(251);
const TEXT = 'x'.repeat(64 * 1024 + 1);

/** Files that hold a map of one key and text somewhere, and the line on which it stands. */
const FILES: readonly (readonly [path: string, line: number, pointer: string, text: (map: string) => string])[] = [
  ['types/role/web.yaml', 2, '', (map) => `port: 1\n${map}\n`],
  [
    'stacks/templates/web.yaml',
    5,
    '/resources/web/properties',
    (map) => `resources:\n  web:\n    type: Platform::Server\n    properties:\n      ${map}\n`,
  ],
  ['stacks/instances/shop.yaml', 3, '/parameters', (map) => `stackTemplate: web\nparameters:\n  ${map}\n`],
  [
    'stacks/instances/shop.yaml',
    6,
    '/stackTemplateAdditions/resources/web/properties',
    (map) => `stackTemplate: web\nstackTemplateAdditions:\n  resources:\n    web:\n      properties:\n        ${map}\n`,
  ],
  ['hierarchy.yaml', 2, '/merge', (map) => `merge:\n  ${map}\n`],
  ['clients/A1.yaml', 2, '', (map) => `role: proxy\n${map}\n`],
];

describe.each(FILES)('%s at %i', (path, line, pointer, textOf) => {
  test('accepts a key of 250 characters, and refuses one of 251', () => {
    const codes = parseEntry(path, 'o', textOf(`${KEY.slice(1)}: x`)).problems.map(({ message }) => message);
    expect(codes.filter((message) => message.includes('characters'))).toEqual([]);
    const { problems } = parseEntry(path, 'o', textOf(`${KEY}: x`));
    expect(problems).toContainEqual({
      code: 'bad_key',
      severity: 'error',
      file: path,
      line,
      column: expect.any(Number),
      pointer,
      message: `the key "${'k'.repeat(80)}…" has 251 characters, and a key may have 250`,
      hint: 'choose a shorter name',
    });
    // One mistake, one message: neither the schema nor the pointer repeats it.
    expect(JSON.stringify(problems)).not.toContain(KEY);
  });

  test('accepts a text of 64 KiB, and refuses a longer one', () => {
    const messages = parseEntry(path, 'o', textOf(`a: ${TEXT.slice(1)}`)).problems.map(({ code }) => code);
    expect(messages).not.toContain('value_too_large');
    const { problems } = parseEntry(path, 'o', textOf(`a: ${TEXT}`));
    expect(problems).toContainEqual({
      code: 'value_too_large',
      severity: 'error',
      file: path,
      line,
      column: expect.any(Number),
      pointer: `${pointer}/a`,
      message: 'this text has 65537 characters, and a text may have 65536',
      hint: 'keep the text elsewhere, and write here where it is',
    });
  });
});

test('parseEntry checks items of lists like other texts', () => {
  const { problems } = parseEntry('types/role/web.yaml', 'o', `a: [b, ${TEXT}]`);
  expect(problems.map(({ code, pointer }) => [code, pointer])).toEqual([['value_too_large', '/a/1']]);
});

test('parseEntry reads nothing below a key that is too long', () => {
  const values = Array.from({ length: 20_000 }, (_, i) => `  a${i}: 1\n`).join('');
  for (const path of ['types/role/web.yaml', 'stacks/templates/web.yaml']) {
    const { problems } = parseEntry(path, 'o', `? ${'k'.repeat(500_000)}\n:\n${values}`);
    expect(problems.map(({ code, pointer }) => [code, pointer])).toEqual([['bad_key', '']]);
  }
});
