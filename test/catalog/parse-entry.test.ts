import { expect, test } from 'vitest';
import { parseEntry, readEntry } from '../../src/catalog/parse-entry.ts';

test('parseEntry returns no object for a wrong schema, and an invalid object for other mistakes', () => {
  expect(parseEntry('types/zone/a.yaml', 'o', 'x: {}').object).toBe(null);
  expect(parseEntry('types/zone/a.yaml', 'o', 'name: b').object).toMatchObject({ name: 'a' });
});

test('parseEntry parses the same bytes once for a path, also after another path', () => {
  const bytes = Buffer.from('ntp: [a]\n');
  const at = (name: string, oid = 'o') =>
    readEntry({ path: `types/zone/${name}.yaml`, oid, placed: { type: 'zone', name } }, bytes);
  const first = at('a');
  expect(at('a')).toBe(first);
  expect(at('b')).toMatchObject({ path: 'types/zone/b.yaml', name: 'b' });
  expect(at('a')).toEqual({ ...first, locate: expect.anything() });
  expect(at('a', 'p').oid).toBe('p');
  expect(readEntry({ path: 'types/zone/a.yaml', oid: 'o', placed: { type: 'zone', name: 'a' } }, undefined).text).toBe(
    null,
  );
});

test('parseEntry keeps a hundred problems, errors before warnings', () => {
  const lines = [
    ...Array.from({ length: 150 }, (_, i) => `w${i}: 1.0`),
    ...Array.from({ length: 30 }, (_, i) => `e${i}: {}`),
  ];
  const { problems } = parseEntry('types/zone/a.yaml', 'o', lines.join('\n'));
  expect(problems).toHaveLength(101);
  expect(problems.slice(0, 30).every(({ code }) => code === 'wrong_type')).toBe(true);
  expect(problems.at(-1)).toMatchObject({
    code: 'more_problems',
    severity: 'error',
    message: 'the file has 80 more problems',
  });
  const warnings = parseEntry('types/zone/a.yaml', 'o', lines.slice(0, 150).join('\n'));
  expect(warnings.problems.at(-1)).toMatchObject({ code: 'more_problems', severity: 'warning' });
  expect(warnings.object).not.toBe(null);
});

test('parseEntry quotes the text of users, shortened', () => {
  const long = 'x'.repeat(5000);
  for (const text of [
    `a: @${long}`,
    `a: b: ${long}`,
    `a: &${long} 1`,
    `a: !${long} 1`,
    `${long}.: 1`,
    `name: ${long}`,
    `a: ${'9'.repeat(250)}`,
  ]) {
    const { problems } = parseEntry('types/zone/a.yaml', 'o', text);
    expect(problems.map(({ message, hint }) => `${message} ${hint}`.length < 500)).toEqual([true]);
  }
});

test('parseEntry returns the same entry for bytes and text', () => {
  const text = 'description: é\nntp: [1]\n';
  const [bytes, string] = [Buffer.from(text), text].map((source) => parseEntry('types/zone/a.yaml', 'o', source));
  expect(JSON.stringify(bytes)).toBe(JSON.stringify(string));
});

test('parseEntry returns an entry with a problem for a path without an object', () => {
  expect(parseEntry('README.md', 'o', 'a: 1')).toMatchObject({
    object: null,
    type: null,
    problems: [{ code: 'misplaced_file', severity: 'error', line: 1, column: 1 }],
  });
  const stray = parseEntry('clients/a1.yaml', 'o', 'a: 1');
  expect(stray).toMatchObject({
    object: null,
    problems: [{ code: 'client_file_name', hint: 'rename the file to A1.yaml' }],
  });
  expect(stray.locate('/a')).toEqual({ line: 1, column: 1 });
});

test.each([
  ['alice', 'serial: 0a:1c', 'rename the file to 0A1C.yaml'],
  ['alice', 'serial: "1234"', 'rename the file to 1234.yaml'],
  ['ada', 'serial: 0A1C', 'rename the file to 0A1C.yaml'],
  ['ada', 'role: proxy', 'rename the file to 0ADA.yaml'],
  ['alice', 'serial: nonsense', "name the file after the certificate's serial number in upper-case hexadecimal"],
  ['alice', 'serial: 1234', "name the file after the certificate's serial number in upper-case hexadecimal"],
  ['alice', 'a: [', "name the file after the certificate's serial number in upper-case hexadecimal"],
])('parseEntry names the right file for a client file %s with %j', (name, text, hint) => {
  const { problems, object } = parseEntry(`clients/${name}.yaml`, 'o', text);
  expect([object, problems]).toEqual([null, [expect.objectContaining({ code: 'client_file_name', hint })]]);
});
