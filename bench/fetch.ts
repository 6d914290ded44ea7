// The benchmark `fetch`: the first fetch of a repository with a long history, compared with `git clone --bare
// --single-branch` of the same remote in the same run. docs/benchmarks.md explains the results.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { GitRepository } from '../test/support/git-repository.ts';
import { instancePath, instanceText, repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, type BenchPart, median, type PartReport, type PartRow, rowOf } from './bench-row.ts';
import { OwnedProcess } from './owned-process.ts';
import { ServedController } from './served-controller.ts';
import { createSite, type Site } from './site.ts';

const SIZE = { instances: 10, servers: 2, kinds: 10 };
const FETCH_MS_MAX = 10 * 60_000;
/** The minimum of git's time divided by Treeline's. */
const RATIO_MIN = 0.5;
const PEAK_MIB_MAX = 200;
const MIB = 2 ** 20;

interface Round {
  readonly gitSeconds: number;
  /** From the start of following until the commit is active. */
  readonly seconds: number;
  /** The peak memory of the controller until it is idle. */
  readonly peakBytes: number;
}

/** The part `fetch` of the table. */
export const FETCH: BenchPart = {
  name: 'fetch',
  summary: 'the first fetch of a long history, beside `git clone --bare --single-branch`',
  run: benchFetch,
};

async function benchFetch({ folder, isQuick, say }: BenchContext): Promise<PartReport> {
  const [rounds, commits] = isQuick ? [1, 500] : [5, 6_500];
  const site = await createSite(folder, { ...repositoryFiles(SIZE) });
  await addHistory(site.repository, commits);
  say(`made ${commits} commits`);
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const gitSeconds = await measureGit(site, round);
    const treeline = await measureTreeline(site, `${round}`);
    measured.push({ gitSeconds, ...treeline });
    say(`round ${round} of ${rounds}: git ${gitSeconds.toFixed(2)} s, here ${treeline.seconds.toFixed(2)} s`);
  }
  return { rows: rowsOf(measured, commits), failures: [] };
}

async function measureGit({ folder, repository }: Site, round: number): Promise<number> {
  const clone = join(folder, `clone-${round}.git`);
  // For a plain path, git would only link the files.
  const url = `file://${repository.path}`;
  const args = ['clone', '--quiet', '--bare', '--single-branch', url, clone];
  const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const start = performance.now();
  const git = new OwnedProcess({ file: 'git', args, cwd: folder, output: join(folder, 'git.log'), env });
  const code = await git.exit(FETCH_MS_MAX);
  const seconds = (performance.now() - start) / 1000;
  if (code !== 0) throw new Error(`git clone of ${url} ended with ${code}: ${readFileSync(join(folder, 'git.log'))}`);
  rmSync(clone, { recursive: true });
  return seconds;
}

async function measureTreeline(site: Site, name: string): Promise<Omit<Round, 'gitSeconds'>> {
  rmSync(site.state, { recursive: true, force: true });
  mkdirSync(site.state, { mode: 0o700 });
  const controller = new ServedController(site, name);
  const reach = (message: string): Promise<number> =>
    controller.process.until(`it said "${message}"`, FETCH_MS_MAX, () => {
      const [line] = controller.log.lines(message);
      return line && Date.parse(String(line.time)) / 1000;
    });
  const begin = await reach('listening');
  const seconds = (await reach('commit followed')) - begin;
  await controller.quiet();
  const { peakBytes } = controller.process.usage();
  await controller.stop();
  return { seconds, peakBytes };
}

function rowsOf(rounds: readonly Round[], commits: number): readonly PartRow[] {
  const name = `first fetch of ${commits} commits`;
  const peer = {
    name: 'git clone --bare --single-branch',
    value: median(rounds.map(({ gitSeconds }) => gitSeconds)),
    ratio: median(rounds.map(({ gitSeconds, seconds }) => gitSeconds / seconds)),
  };
  const seconds = median(rounds.map((round) => round.seconds));
  const peakMib = Math.max(...rounds.map(({ peakBytes }) => peakBytes)) / MIB;
  return [
    rowOf({
      work: `${name}: until the commit is active`,
      value: seconds,
      unit: 's',
      target: { ratioMin: RATIO_MIN },
      peer,
    }),
    rowOf({ work: `${name}: peak memory`, value: peakMib, unit: 'MiB', target: { atMost: PEAK_MIB_MAX } }),
  ];
}

const NOTES = 1500;
const FOLDERS = 30;
/** The size of one note. As text it is a third larger, of which git's compression saves a quarter. */
const NOISE_BYTES = 7392;
const FIRST_SECOND = 1_800_100_000;

/**
 * Adds a long history to `main`, the same in each run: noise that hardly compresses, and changes of instances. Packs
 * the repository into one pack, like a host.
 */
async function addHistory(repository: GitRepository, commits: number): Promise<void> {
  const child = spawn('git', ['-C', repository.path, 'fast-import', '--quiet'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const ended = once(child, 'close');
  const numbers = pseudoRandom();
  child.stdin.write('reset refs/heads/main\nfrom refs/heads/main^0\n\n');
  for (let commit = 0; commit < commits; commit += 1) {
    if (!child.stdin.write(commitOf(commit, numbers))) await once(child.stdin, 'drain');
  }
  child.stdin.end();
  const [code] = await ended;
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`);
  await repository.git('repack', '-a', '-d', '-q');
}

function commitOf(commit: number, numbers: () => number): string {
  const { instances, servers, kinds } = SIZE;
  const instance = commit % instances;
  const note = numbers() % NOTES;
  const text = instanceText({ kind: instance % kinds, servers, version: String(commit) });
  return [
    `commit refs/heads/main\ncommitter Bench <bench@example.org> ${FIRST_SECOND + commit} +0000\n`,
    dataOf(`Change note ${note}`),
    `M 100644 inline ${instancePath(instance)}\n${dataOf(text)}`,
    `M 100644 inline notes/${note % FOLDERS}/note-${note}.txt\n${dataOf(noiseOf(numbers))}`,
  ].join('');
}

function dataOf(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

function noiseOf(numbers: () => number): string {
  const bytes = Buffer.allocUnsafe(NOISE_BYTES);
  for (let at = 0; at < NOISE_BYTES; at += 4) bytes.writeUInt32LE(numbers(), at);
  return bytes.toString('base64').replace(/.{76}/g, '$&\n');
}

/** Returns a deterministic generator of 32-bit numbers: Marsaglia's xorshift. */
function pseudoRandom(): () => number {
  let state = 2_463_534_242;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
