import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

test('docs/problems.md lists every code that reading files can give', () => {
  const sources = readdirSync('src/catalog').map((file) => readFileSync(`src/catalog/${file}`, 'utf8'));
  const givings = sources.flatMap((source) => source.match(/\bcode(?::| =) .*/g) ?? []);
  const codes = new Set(
    givings.flatMap((line) => line.match(/(?<=code(?::| =) [^,;]*')[a-z_0-9]+_[a-z_0-9]+(?=')/g) ?? []),
  );
  const listed = new Set(readFileSync('docs/problems.md', 'utf8').match(/(?<=^\| `)[a-z_0-9]+/gm));
  expect(codes.size).toBeGreaterThan(30);
  expect([...codes].filter((code) => !listed.has(code))).toEqual([]);
});
