// Takes mends back, one at a time, and tells how many seeds it takes to notice.

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PlantedDefect } from './planted-defect.ts';
import { simulate } from './simulate.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const DEFECTS = join(import.meta.dirname, 'defects');

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
  const chosen = (await plantedDefects()).filter((defect) =>
    only === undefined ? !isOfSize(defect) : defect.id.startsWith(only),
  );
  if (chosen.length === 0) {
    process.stderr.write(`--only: no planted defect has an id that begins with "${only}"\n`);
    return false;
  }
  for (const defect of chosen) {
    if (defect.metBy !== undefined) {
      process.stdout.write(`| ${defect.id} | ${defect.title} | met by ${defect.metBy} |\n`);
      continue;
    }
    const row = await plant(defect, seeds);
    isEachFound &&= row.isFound;
    process.stdout.write(`| ${defect.id} | ${defect.title} | ${row.words} |\n`);
  }
  return isEachFound;
}

/** Growth is measured by the benchmark; runs of a few servers cannot meet it. */
function isOfSize({ id }: PlantedDefect): boolean {
  return /^1[678]-/.test(id);
}

async function plant(defect: PlantedDefect, seeds: number): Promise<{ isFound: boolean; words: string }> {
  const faults = await faultsOf(defect);
  if (faults.length > 0) return { isFound: false, words: `cannot be planted: ${faults.join('; ')}` };
  const tree = await mkdtemp(join(tmpdir(), 'treeline-planted-'));
  try {
    for (const folder of ['src', 'schemas', 'test/simulation', 'test/support', 'package.json']) {
      await cp(join(ROOT, folder), join(tree, folder), { recursive: true });
    }
    await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    for (const { file, find, replace } of defect.edits) {
      const text = await readFile(join(tree, file), 'utf8');
      await writeFile(
        join(tree, file),
        text.replace(find, () => replace),
      );
    }
    return await searchFor(tree, seeds);
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

/** Looks for a seed that breaks a promise with the defect, and none without it. */
async function searchFor(tree: string, seeds: number): Promise<{ isFound: boolean; words: string }> {
  const began = performance.now();
  for (let from = 1; from <= seeds; ) {
    const { line, seed, output } = await firstBroken(tree, from, seeds);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    if (line === undefined) return { isFound: false, words: `${seconds} s | not found ${output.slice(-200).trim()}` };
    if ((await simulate(seed)).violation === undefined) return { isFound: true, words: `${seconds} s | ${line}` };
    from = seed + 1;
  }
  return { isFound: false, words: 'not found' };
}

async function firstBroken(tree: string, from: number, to: number) {
  const script = join(tree, 'test/simulation/run.ts');
  const range = ['--from', String(from), '--seeds', String(to - from + 1)];
  const child = spawn(process.execPath, [...process.execArgv, script, '--quiet', ...range], { cwd: tree });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  await new Promise((resolve) => child.on('close', resolve));
  const [line, seed] = /^seed (\d+) .*$/m.exec(output) ?? [];
  return { line, seed: Number(seed), output };
}
