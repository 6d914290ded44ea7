// Makes each of forty mistakes in a copy of sample-repo of its own: each is found where it was made, has a hint, and stops whom it
// has to. What the messages say is read in test/texts/problems.txt.
// `UPDATE_GOLDEN=1 npx vitest run test/cli/validate/forty-mistakes.test.ts` writes forty-mistakes.txt.
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Report } from '../../../src/cli/validate/report.ts';
import { validateDirectory } from '../../../src/cli/validate/validate-directory.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type Addition, MISTAKES, type Mistake, type Replacement } from './forty-mistakes.ts';

const SAMPLE = join(import.meta.dirname, '..', '..', '..', 'sample-repo');
const GOLDEN = new URL('forty-mistakes.txt', import.meta.url);
const MARK = '▶';

/** Where a mistake has to be reported: `file:line:column`, or the file where its text has no mark. */
interface Made {
  readonly directory: string;
  readonly place: string;
}

function make(edit: Replacement | Addition): Made {
  const directory = temporaryDirectory();
  cpSync(SAMPLE, directory, { recursive: true });
  const place = 'in' in edit ? replaceIn(directory, edit) : addTo(directory, edit);
  return { directory, place };
}

function replaceIn(directory: string, { in: file, from, to }: Replacement): string {
  const before = readFileSync(join(directory, file), 'utf8');
  expect(before.split(from), `"${from}" stands in ${file} once`).toHaveLength(2);
  const after = before.replace(from, () => to);
  writeFileSync(join(directory, file), after.replace(MARK, ''));
  return `${file}:${placeOfMark(after)}`;
}

function addTo(directory: string, { add, remove }: Addition): string {
  if (remove !== undefined) rmSync(join(directory, remove));
  for (const [file, content] of Object.entries(add)) {
    const path = join(directory, file);
    mkdirSync(dirname(path), { recursive: true });
    if (typeof content === 'object' && 'linkTo' in content) symlinkSync(content.linkTo, path);
    else writeFileSync(path, typeof content === 'string' ? content.replace(MARK, '') : content);
    return `${file}:${typeof content === 'string' ? placeOfMark(content) : '1:'}`;
  }
  return `${remove}:1:1`;
}

function placeOfMark(text: string): string {
  const lines = text.slice(0, text.indexOf(MARK)).split('\n');
  expect(text).toContain(MARK);
  return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
}

/** Returns the report of a mistake, and what is wrong with it. */
async function tryMistake([title, code, edit]: Mistake): Promise<{ report: Report; complaints: readonly string[] }> {
  const { directory, place } = make(edit);
  const report = await validateDirectory(directory);
  const found = report.problems.map((problem) => `${problem.file}:${problem.line}:${problem.column} ${problem.code}`);
  const isThere = found.some((one) => one.startsWith(place) && one.endsWith(` ${code}`));
  const unhelpful = report.problems.filter(({ hint }) => hint === null).map(({ message }) => message);
  return {
    report,
    complaints: [
      ...(isThere ? [] : [`${title}: wanted ${place} ${code}, found ${found.join(', ')}`]),
      ...unhelpful.map((message) => `${title}: no hint for "${message}"`),
    ],
  };
}

/** Returns a line for each problem: its place, its code and whom it stops. */
function foundIn({ problems }: Report): readonly string[] {
  return problems.map(({ file, line, column, severity, code, instances = [] }) => {
    const stopped = instances.length === 0 ? '' : `, stops ${instances.join(', ')}`;
    return `${file}:${line}:${column} ${severity} ${code}${stopped}`;
  });
}

test('each of forty mistakes is reported at its place, with a hint', async () => {
  expect(MISTAKES.length).toBeGreaterThanOrEqual(40);
  const tried = await Promise.all(MISTAKES.map(tryMistake));
  const texts = tried.map(({ report }, index) => `# ${MISTAKES[index]?.[0]}\n${foundIn(report).join('\n')}\n`);
  const text = texts.join('\n');
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(GOLDEN, text);
  expect(tried.flatMap(({ complaints }) => complaints)).toEqual([]);
  expect(text).toBe(readFileSync(GOLDEN, 'utf8'));
});
