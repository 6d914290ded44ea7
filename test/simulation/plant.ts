// Plants defects by hand: applies each patch of test/simulation/planted/ to a copy of the sources, and prints the first seed that
// breaks a promise with it and none without it. The first line of a patch is its title.
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..');
const PATCHES = join(import.meta.dirname, 'planted');
/** The parts of the project that a run needs. */
const COPIED = ['src', 'schemas', 'migrations', 'sample-repo', 'test', 'package.json'];

/** Prints a row for each patch whose name begins with `only`, and returns true if every defect was found. */
export async function plantAll(seeds: number, only = ''): Promise<boolean> {
  const chosen = (await readdir(PATCHES)).filter((file) => file.startsWith(only)).sort();
  if (chosen.length === 0) process.stderr.write(`--only: no patch in test/simulation/planted/ begins with "${only}"\n`);
  let isEachFound = chosen.length > 0;
  for (const file of chosen) {
    const [title] = (await readFile(join(PATCHES, file), 'utf8')).split('\n', 1);
    const began = performance.now();
    const found = await plant(join(PATCHES, file), seeds);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    isEachFound &&= found.isFound;
    process.stdout.write(`| ${file} | ${title} | ${seconds} s | ${found.words} |\n`);
  }
  return isEachFound;
}

interface Found {
  readonly isFound: boolean;
  readonly words: string;
}

async function plant(patch: string, seeds: number): Promise<Found> {
  const tree = await mkdtemp(join(tmpdir(), 'treeline-planted-'));
  try {
    for (const part of COPIED) await cp(join(ROOT, part), join(tree, part), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    const applied = await run(tree, 'git', ['apply', patch]);
    if (applied.code !== 0) return { isFound: false, words: `the patch does not apply: ${applied.output.trim()}` };
    return await search(tree, seeds);
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

async function search(tree: string, seeds: number): Promise<Found> {
  for (let from = 1; from <= seeds; ) {
    const broken = await firstBroken(tree, from, seeds);
    if (broken === undefined) break;
    if ((await firstBroken(ROOT, broken.seed, broken.seed)) === undefined) return { isFound: true, words: broken.line };
    from = broken.seed + 1;
  }
  return { isFound: false, words: 'not found' };
}

async function firstBroken(tree: string, from: number, to: number) {
  const script = join(tree, 'test/simulation/run.ts');
  const args = ['--quiet', '--from', String(from), '--seeds', String(to - from + 1)];
  const { output } = await run(tree, process.execPath, [...process.execArgv, script, ...args]);
  const found = /^seed (\d+) .*$/m.exec(output);
  return found === null ? undefined : { line: found[0], seed: Number(found[1]) };
}

async function run(folder: string, program: string, args: readonly string[]) {
  const child = spawn(program, args, { cwd: folder });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { code, output };
}
