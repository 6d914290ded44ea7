// Whole repositories and everything that follows from them. Each folder below golden/ is a case: case.md says what it
// teaches, repo/ holds the files, want/ what they come to. `UPDATE_GOLDEN=1 npx vitest run test/golden.test.ts` writes
// want/ anew; read every line that it changes against docs/concepts.md before you commit it.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { wantsBlob } from '../src/catalog/load-catalog.ts';
import { type Derivation, derive } from '../src/derive.ts';
import { compareNames } from '../src/model/names.ts';
import { readDirectory } from '../src/repository/directory-snapshot.ts';
import { explainedRecords } from './support/explained-records.ts';
import { readableJson } from './support/readable-json.ts';

const GOLDEN = join(import.meta.dirname, 'golden');
const SAMPLE = join(import.meta.dirname, '..', 'sample-repo');
const TIME = '2026-11-20T10:13:56Z';
const cases = readdirSync(GOLDEN).sort(compareNames);

/** What stands in want/, by file. */
type Outcome = Readonly<Record<'servers' | 'records' | 'problems', unknown>>;

describe.each(cases)('%s', (name) => {
  test('has a one-line description', () => {
    expect(readFileSync(join(GOLDEN, name, 'case.md'), 'utf8')).toMatch(/^\S.*\.\n$/);
  });

  test('has the expected result', async () => {
    for (const [file, value] of Object.entries(await outcomeOf(repositoryOf(name)))) {
      const text = readableJson(value);
      if (process.env.UPDATE_GOLDEN === '1') update(name, file, text);
      expect(text, `test/golden/${name}/want/${file}.json`).toBe(wanted(name, file));
    }
  });
});

test('there are many golden cases, and the sample repository', () => {
  expect(cases.length).toBeGreaterThanOrEqual(25);
  expect(cases).toContain('sample-repo');
});

function repositoryOf(name: string): string {
  return name === 'sample-repo' ? SAMPLE : join(GOLDEN, name, 'repo');
}

async function outcomeOf(directory: string): Promise<Outcome> {
  const derivation = derive(await readDirectory(directory, { time: TIME, wants: wantsBlob() }));
  if (!derivation.isFollowed) return { servers: {}, records: {}, problems: derivation.problems };
  return {
    servers: serversOf(derivation),
    records: explainedRecords(derivation.desired, TIME),
    problems: derivation.desired.problems,
  };
}

type Followed = Derivation & { readonly isFollowed: true };

function serversOf({ desired }: Followed): unknown {
  const servers = [...desired.units.values()].flatMap((unit) => [...unit.servers.values()]);
  return Object.fromEntries(
    servers
      .sort((a, b) => compareNames(a.name, b.name))
      .map(({ name, instance, key, index, spec }) => [name, { instance, key, index, spec }]),
  );
}

function wanted(name: string, file: string): string {
  const path = join(GOLDEN, name, 'want', `${file}.json`);
  return existsSync(path) ? readFileSync(path, 'utf8') : '(no such file)';
}

function update(name: string, file: string, text: string): void {
  mkdirSync(join(GOLDEN, name, 'want'), { recursive: true });
  writeFileSync(join(GOLDEN, name, 'want', `${file}.json`), text);
}
