import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const PROJECT = new URL('../../', import.meta.url);

test('docs/problems.md lists every code of this folder', () => {
  const folder = fileURLToPath(new URL('src/expand/', PROJECT));
  const sources = readdirSync(folder).map((file) => readFileSync(`${folder}${file}`, 'utf8'));
  const codes = sources.flatMap((source) =>
    [...source.matchAll(/\bcode(?::| =) '(\w+)'/g)].map(([, code = '']) => code),
  );
  const documented = readFileSync(new URL('docs/problems.md', PROJECT), 'utf8');
  expect(codes.length).toBeGreaterThan(20);
  expect(codes.filter((code) => !documented.includes(`| \`${code}\` |`))).toEqual([]);
});
