// Compares all messages about files with problems.txt, which is read as the person who gets them.
// `UPDATE_GOLDEN=1 npx vitest run test/texts` writes it anew.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import table from '../../schemas/problem-codes.json' with { type: 'json' };
import { formatProblem } from '../../src/cli/format-problem.ts';
import { PROBLEM_CODES } from '../../src/cli/validate/problem-codes.ts';
import { problemsAndRemarks } from '../../src/desired/remarks.ts';
import type { Problem } from '../../src/model/problem.ts';
import { TextRepository } from '../support/text-repository.ts';
import { ELSEWHERE, RIGHT, WRONG_FILES, type WrongFile } from './wrong-files.ts';

const GOLDEN = new URL('problems.txt', import.meta.url);

/** Longer ones are cut: it is the words that are read here. */
const LINE_MAX = 400;
/** Of one file, so many mistakes are read. */
const SHOWN_MAX = 12;

function problemsOf([title, ...commits]: WrongFile): readonly Problem[] {
  const repository = new TextRepository();
  // Where nothing was there before, nobody is kept.
  if (title.includes('from the beginning')) {
    return problemsIn(repository, Object.assign({}, RIGHT, ...commits));
  }
  repository.commit(RIGHT);
  for (const changes of commits.slice(0, -1)) repository.commit(changes);
  return problemsIn(repository, commits.at(-1) ?? {});
}

function problemsIn(repository: TextRepository, changes: WrongFile[1]): readonly Problem[] {
  const derivation = repository.try(changes);
  return derivation.isFollowed ? problemsAndRemarks(derivation.desired) : derivation.problems;
}

test('problems.txt has every text, and every code of docs/problems.md', () => {
  const codes = new Set<string>();
  const lines = Object.entries(WRONG_FILES).flatMap(([group, mistakes]) => [
    `## ${group}`,
    ...mistakes.flatMap((mistake) => {
      const problems = problemsOf(mistake);
      for (const { code } of problems) codes.add(code);
      const texts = problems.slice(0, SHOWN_MAX).flatMap((problem) => formatProblem(problem).split('\n'));
      const more = problems.length > SHOWN_MAX ? [`… and ${problems.length - SHOWN_MAX} more`] : [];
      return ['', `# ${mistake[0]}`, ...[...texts, ...more].map((line) => line.slice(0, LINE_MAX))];
    }),
    '',
  ]);
  const text = `${lines.join('\n')}`;
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(GOLDEN, text);
  expect(text).toBe(readFileSync(GOLDEN, 'utf8'));
  const documented = Object.keys(PROBLEM_CODES).filter((code) => !(code in table.groups.settings.codes));
  expect(documented.filter((code) => !codes.has(code) && !(code in ELSEWHERE))).toEqual([]);
});
