// The benchmark `fetch`: the first fetch of a repository with a long history, beside `git clone --bare --single-branch`
// of the same remote in the same minutes. docs/benchmarks.md says how to read it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { GitRepository } from '../test/support/git-repository.ts';
import { instancePath, instanceText, repositoryFiles } from '../test/support/sized-repository.ts';
import type { BenchContext, BenchPart, PartReport } from './bench-part.ts';
import { median, type PartRow, rowOf } from './bench-row.ts';
import { OwnedProcess } from './owned-process.ts';
import { ServedController } from './served-controller.ts';
import { createSite, type Site } from './site.ts';

const ROOT = join(import.meta.dirname, '..');
const SIZE = { instances: 10, servers: 2, kinds: 10 };
const START_MS_MAX = 20_000;
const FETCH_MS_MAX = 10 * 60_000;
/** Git's time, as a share of Treeline's. */
const RATIO_MIN = 0.5;
const PEAK_MIB_MAX = 200;
const MIB = 2 ** 20;

/** A way to the repository. */
interface Way {
  readonly title: string;
  readonly url: string;
  readonly config: string;
  /** Settings of git for it. */
  readonly gitSettings: readonly string[];
}

interface Round {
  readonly gitSeconds: number;
  /** From the start of following until the commit is active. */
  readonly seconds: number;
  /** The most memory of the controller, until it is idle. */
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
  const server = await startHttps(site);
  const measured = waysTo(site, server.port).map((way): [Way, Round[]] => [way, []]);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [way, found] of measured) {
      const gitSeconds = await measureGit(site, way, round);
      const treeline = await measureTreeline(site, way, `${way.title}-${round}`);
      found.push({ gitSeconds, ...treeline });
      const [theirs, own] = [gitSeconds, treeline.seconds].map((seconds) => seconds.toFixed(2));
      say(`round ${round} of ${rounds}, ${way.title}: git ${theirs} s, here ${own} s`);
    }
  }
  await server.process.stop();
  return { rows: measured.flatMap(([way, found]) => rowsOf(way, found, commits)), failures: [] };
}

async function startHttps({ folder }: Site): Promise<{ readonly port: number; readonly process: OwnedProcess }> {
  const output = join(folder, 'https.log');
  const pki = (name: string): string => join(folder, 'pki', name);
  const args = ['bench/git-https-run.ts', join(folder, 'stacks.git'), pki('server.key'), pki('server.crt')];
  const server = new OwnedProcess({ file: process.execPath, args, cwd: ROOT, output });
  const port = await server.until('it listened', START_MS_MAX, () => {
    const text = readFileSync(output, 'utf8');
    return text.endsWith('\n') ? Number(text) : undefined;
  });
  return { port, process: server };
}

function waysTo({ folder, config, repository }: Site, port: number): readonly Way[] {
  const settings = readFileSync(config, 'utf8');
  const url = `https://127.0.0.1:${port}/stacks.git`;
  const overHttps = join(folder, 'https.yaml');
  const local = 'url: stacks.git';
  if (!settings.includes(local)) throw new Error(`${config} names another repository`);
  writeFileSync(overHttps, settings.replace(local, `url: "${url}", caFile: pki/ca.crt`));
  const ca = join(folder, 'pki', 'ca.crt');
  return [
    { title: 'https', url, config: overHttps, gitSettings: ['-c', `http.sslCAInfo=${ca}`] },
    // Of a plain path, git would link the files and check nothing.
    { title: 'local', url: `file://${repository.path}`, config, gitSettings: [] },
  ];
}

async function measureGit({ folder }: Site, { title, url, gitSettings }: Way, round: number): Promise<number> {
  const clone = join(folder, `clone-${title}-${round}.git`);
  const args = [...gitSettings, 'clone', '--quiet', '--bare', '--single-branch', url, clone];
  const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const start = performance.now();
  const git = new OwnedProcess({ file: 'git', args, cwd: folder, output: join(folder, 'git.log'), env });
  const code = await git.exit(FETCH_MS_MAX);
  const seconds = (performance.now() - start) / 1000;
  if (code !== 0) throw new Error(`git clone of ${url} ended with ${code}: ${readFileSync(join(folder, 'git.log'))}`);
  rmSync(clone, { recursive: true });
  return seconds;
}

async function measureTreeline(site: Site, { config }: Way, name: string): Promise<Omit<Round, 'gitSeconds'>> {
  rmSync(site.state, { recursive: true, force: true });
  mkdirSync(site.state, { mode: 0o700 });
  const controller = new ServedController({ ...site, config }, name);
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

function rowsOf({ title }: Way, rounds: readonly Round[], commits: number): readonly PartRow[] {
  const name = `first fetch of ${commits} commits, ${title}`;
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
/** Of one note; as text a third more, of which git's compression saves a quarter. */
const NOISE_BYTES = 7392;
const FIRST_SECOND = 1_800_100_000;

/**
 * Adds a long history to `main`, the same at each run: noise that hardly compresses, beside changes of instances. Packs the repository
 * into one pack as a host does.
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

/** Returns a generator of 32-bit numbers, the same at each call: Marsaglia's xorshift. */
function pseudoRandom(): () => number {
  let state = 2_463_534_242;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}
