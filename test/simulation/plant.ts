// Takes mends back, one at a time, and tells how many seeds it takes to notice.

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PlantedDefect } from './planted-defect.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DEFECTS = join(import.meta.dirname, 'defects');
/** What runs and tests need of the project. */
const COPIED = ['src', 'schemas', 'migrations', 'sample-repo', 'test', 'package.json', 'vitest.config.ts'];
/** Characters of the end of an output that are told. */
const OUTPUT_LENGTH = 200;

/** Returns every planted defect, by file and then in the order of each file. */
export async function plantedDefects(): Promise<readonly PlantedDefect[]> {
  const files = (await readdir(DEFECTS)).filter((file) => file.endsWith('.ts')).sort();
  const modules = await Promise.all(files.map((file) => import(join(DEFECTS, file))));
  return modules.flatMap((module: Record<string, readonly PlantedDefect[]>) => Object.values(module).flat());
}

/** Returns what keeps an edit from being made: its text has to stand in its file exactly once. */
export async function faultsOf({ id, edits }: PlantedDefect): Promise<readonly string[]> {
  const texts = await Promise.all(edits.map(({ file }) => readFile(join(ROOT, file), 'utf8').catch(() => '')));
  return edits.flatMap(({ file, find }, index) => {
    const times = (texts[index] ?? '').split(find).length - 1;
    return times === 1 ? [] : [`${id}: ${file} has ${times} times: ${find.split('\n', 1)[0]}`];
  });
}

/** Prints a row for each defect, and returns true where each of them was found. */
export async function plantAll(seeds: number, only?: string): Promise<boolean> {
  let isEachFound = true;
  const chosen = (await plantedDefects()).filter((defect) => only === undefined || defect.id.startsWith(only));
  if (chosen.length === 0) {
    process.stderr.write(`--only: no planted defect has an id that begins with "${only}"\n`);
    return false;
  }
  for (const defect of chosen) {
    const row = await plant(defect, seeds);
    isEachFound &&= row.isFound;
    process.stdout.write(`| ${defect.id} | ${defect.title} | ${row.words} |\n`);
  }
  return isEachFound;
}

interface Row {
  readonly isFound: boolean;
  readonly words: string;
}

async function plant(defect: PlantedDefect, seeds: number): Promise<Row> {
  const faults = await faultsOf(defect);
  if (faults.length > 0) return { isFound: false, words: `cannot be planted: ${faults.join('; ')}` };
  const tree = await mkdtemp(join(tmpdir(), 'treeline-planted-'));
  try {
    for (const part of COPIED) await cp(join(ROOT, part), join(tree, part), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    for (const { file, find, replace } of defect.edits) {
      const text = await readFile(join(tree, file), 'utf8');
      await writeFile(
        join(tree, file),
        text.replace(find, () => replace),
      );
    }
    if (defect.metBy !== undefined) return await runTest(tree, defect.metBy);
    return await searchFor(tree, { seeds, mode: defect.isMetByVariants ? ['--variants'] : [] });
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

/** Runs the tests that are said to meet a defect: some have to fail, and others to pass, since not all are about it. */
async function runTest(tree: string, { test, because }: NonNullable<PlantedDefect['metBy']>): Promise<Row> {
  const report = join(tree, 'report.json');
  const vitest = join(tree, 'node_modules/vitest/vitest.mjs');
  const output = await run(tree, [vitest, 'run', test, '--reporter=json', `--outputFile=${report}`]);
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined)
    return { isFound: false, words: `${test} does not run: ${output.slice(-OUTPUT_LENGTH).trim()}` };
  const { numPassedTests, testResults } = JSON.parse(text);
  const tests: readonly { status: string; fullName: string }[] = testResults[0]?.assertionResults ?? [];
  const failed = tests.find(({ status }) => status === 'failed');
  const isFound = failed !== undefined && numPassedTests > 0;
  return { isFound, words: isFound ? `${test}, as ${because}: ${failed.fullName}` : `not met by ${test}` };
}

interface Search {
  readonly seeds: number;
  /** The option that says how seeds are played; none: each is one run. */
  readonly mode: readonly string[];
}

/** Looks for a seed that breaks a promise with the defect, and none without it. */
async function searchFor(tree: string, { seeds, mode }: Search): Promise<Row> {
  const began = performance.now();
  for (let from = 1; from <= seeds; ) {
    const { line, seed, output } = await firstBroken(tree, mode, [from, seeds]);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    if (line === undefined)
      return { isFound: false, words: `${seconds} s | not found ${output.slice(-OUTPUT_LENGTH).trim()}` };
    const unharmed = await firstBroken(ROOT, mode, [seed, seed]);
    if (unharmed.line === undefined) return { isFound: true, words: `${seconds} s | ${line}` };
    from = seed + 1;
  }
  return { isFound: false, words: 'not found' };
}

async function firstBroken(tree: string, mode: readonly string[], [from, to]: readonly [number, number]) {
  const script = join(tree, 'test/simulation/run.ts');
  const range = ['--from', String(from), '--seeds', String(to - from + 1)];
  const output = await run(tree, [...process.execArgv, script, '--quiet', ...mode, ...range]);
  const [line, seed] = /^seed (\d+) .*$/m.exec(output) ?? [];
  return { line, seed: Number(seed), output };
}

/** Runs Node in a folder, and returns what it printed. */
async function run(folder: string, args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: folder });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  await new Promise((resolve) => child.on('close', resolve));
  return output;
}
