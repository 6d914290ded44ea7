// The benchmark `fetch`: the first fetch of a repository with a long history, beside `git clone --bare --single-branch`
// of the same remote in the same minutes. docs/benchmarks.md says how to read it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { type PartRow, rowOf } from './bench-row.ts';
import { ChildPeaks } from './child-peaks.ts';
import { addHistory } from './long-history.ts';
import { markdownTable, median } from './markdown-table.ts';
import { OwnedProcess } from './owned-process.ts';
import { endedChildrenCpuMs, familyCpuMs } from './process-time.ts';
import { ServedController } from './served-controller.ts';
import { createSite, type Site } from './site.ts';

const ROOT = join(import.meta.dirname, '..');
const ROUNDS_MAX = 50;
const COMMITS_MAX = 100_000;
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

interface Times {
  readonly seconds: number;
  /** Processor time, with that of all processes that were started for it. */
  readonly cpuSeconds: number;
}

interface Fetched {
  /** From the start of following until the local copy holds the head. */
  readonly here: Times;
  /** From the same begin until the commit is active. */
  readonly ready: Times;
  /** The most memory of the controller, until it rested; and of a process that it started. */
  readonly peakBytes: number;
  readonly childPeakBytes: number;
}

interface FetchOptions {
  readonly rounds: number;
  readonly commits: number;
}

interface Round {
  readonly git: Times;
  readonly treeline: Fetched;
}

/** Returns the part `fetch` of the table. */
export const FETCH = definePart({
  name: 'fetch',
  summary: 'the first fetch of a long history, beside `git clone --bare --single-branch`',
  options: {
    rounds: { kind: 'number', default: 5, quick: 1, max: ROUNDS_MAX, help: 'rounds; medians count' },
    commits: {
      kind: 'number',
      default: 6_500,
      quick: 500,
      max: COMMITS_MAX,
      help: 'commits of the history, 8 KiB each',
    },
  },
  run: benchFetch,
});

async function benchFetch({ rounds, commits }: FetchOptions, { folder, say }: BenchContext): Promise<PartReport> {
  const site = await createSite(folder, { ...repositoryFiles(SIZE) });
  await addHistory(site.repository, { ...SIZE, commits });
  const mib = await packedMib(site);
  say(`made ${commits} commits, ${mib.toFixed(1)} MiB`);
  const server = await startHttps(site);
  const measured = waysTo(site, server.port).map((way): [Way, Round[]] => [way, []]);
  for (let round = 1; round <= rounds; round += 1) {
    for (const [way, found] of measured) {
      const git = await measureGit(site, way, round);
      const treeline = await measureTreeline(site, way, `${way.title}-${round}`);
      found.push({ git, treeline });
      const [theirs, here] = [git.seconds, treeline.here.seconds].map((seconds) => seconds.toFixed(2));
      say(`round ${round} of ${rounds}, ${way.title}: git ${theirs} s, here ${here} s`);
    }
  }
  await server.process.stop();
  return {
    rows: measured.flatMap(([way, found]) => rowsOf(way, found, commits)),
    text: `Commits: ${commits}, ${mib.toFixed(0)} MiB of packs. Rounds: ${rounds}. Medians.\n\n${tableOf(measured)}`,
    failures: [],
  };
}

async function packedMib({ repository }: Site): Promise<number> {
  const counts = await repository.git('count-objects', '-v');
  return Number(/^size-pack: (\d+)$/m.exec(counts)?.[1]) / 1024;
}

async function startHttps({ folder }: Site): Promise<{ readonly port: number; readonly process: OwnedProcess }> {
  const output = join(folder, 'https.log');
  const pki = (name: string): string => join(folder, 'pki', name);
  const args = ['bench/git-https-run.ts', folder, pki('server.key'), pki('server.crt')];
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

async function measureGit({ folder }: Site, { title, url, gitSettings }: Way, round: number): Promise<Times> {
  const clone = join(folder, `clone-${title}-${round}.git`);
  const args = [...gitSettings, 'clone', '--quiet', '--bare', '--single-branch', url, clone];
  const env = { PATH: process.env.PATH, HOME: folder, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  const cpuBefore = endedChildrenCpuMs();
  const start = performance.now();
  const git = new OwnedProcess({ file: 'git', args, cwd: folder, output: join(folder, 'git.log'), env });
  const code = await git.exit(FETCH_MS_MAX);
  const seconds = (performance.now() - start) / 1000;
  if (code !== 0) throw new Error(`git clone of ${url} ended with ${code}: ${readFileSync(join(folder, 'git.log'))}`);
  rmSync(clone, { recursive: true });
  return { seconds, cpuSeconds: (endedChildrenCpuMs() - cpuBefore) / 1000 };
}

async function measureTreeline(site: Site, { config }: Way, name: string): Promise<Fetched> {
  rmSync(site.state, { recursive: true, force: true });
  mkdirSync(site.state, { mode: 0o700 });
  const controller = new ServedController({ ...site, config }, name);
  const { pid } = controller.process;
  const children = new ChildPeaks(pid);
  const reach = (message: string): Promise<Times> =>
    controller.process.until(`it said "${message}"`, FETCH_MS_MAX, () => {
      const [line] = controller.log.lines(message);
      return line && { seconds: Date.parse(String(line.time)) / 1000, cpuSeconds: familyCpuMs(pid) / 1000 };
    });
  const begin = await reach('listening');
  const here = await reach('fetched');
  const ready = await reach('commit followed');
  await controller.quiet();
  const { peakBytes } = controller.process.usage();
  children.stop();
  await controller.stop();
  const since = ({ seconds, cpuSeconds }: Times): Times => ({
    seconds: seconds - begin.seconds,
    cpuSeconds: cpuSeconds - begin.cpuSeconds,
  });
  return { here: since(here), ready: since(ready), peakBytes, childPeakBytes: children.peakBytes };
}

function rowsOf({ title }: Way, rounds: readonly Round[], commits: number): readonly PartRow[] {
  const name = `first fetch of ${commits} commits, ${title}`;
  const peer = {
    name: 'git clone --bare --single-branch',
    value: median(rounds.map(({ git }) => git.seconds)),
    ratio: median(rounds.map(({ git, treeline }) => git.seconds / treeline.ready.seconds)),
  };
  const seconds = median(rounds.map(({ treeline }) => treeline.ready.seconds));
  const peakMib = Math.max(...rounds.map(({ treeline }) => treeline.peakBytes)) / MIB;
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

function tableOf(measured: readonly (readonly [Way, readonly Round[]])[]): string {
  const cellsOf = (title: string, rounds: readonly Round[], read: (round: Round) => Times): string[] => {
    const times = (['seconds', 'cpuSeconds'] as const).map((unit) => {
      const value = median(rounds.map((round) => read(round)[unit]));
      const ratio = median(rounds.map((round) => read(round)[unit] / round.git[unit]));
      return [value.toFixed(2), `× ${ratio.toFixed(2)}`];
    });
    return [title, ...times.flat()];
  };
  const mostMib = (rounds: readonly Round[], read: (fetched: Fetched) => number): string =>
    (Math.max(...rounds.map(({ treeline }) => read(treeline))) / MIB).toFixed(0);
  const rows = measured.flatMap(([{ title }, rounds]) => [
    [...cellsOf(`${title}: git clone`, rounds, ({ git }) => git), '', ''],
    [...cellsOf(`${title}: the copy holds the head`, rounds, ({ treeline }) => treeline.here), '', ''],
    [
      ...cellsOf(`${title}: the commit is active`, rounds, ({ treeline }) => treeline.ready),
      mostMib(rounds, ({ peakBytes }) => peakBytes),
      mostMib(rounds, ({ childPeakBytes }) => childPeakBytes),
    ],
  ]);
  return markdownTable(['first fetch', 's', 'of git', 'CPU, s', 'of git', 'peak, MiB', 'its git, MiB'], rows);
}
