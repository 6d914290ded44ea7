// The benchmark `stalls`: a small read every 20 ms while large commits are followed and large answers are sent.
// docs/benchmarks.md says how to read it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileChanges } from '../test/support/git-repository.ts';
import { keepAlive } from '../test/support/https-client.ts';
import { instancePath, instanceText, repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { type PartRow, rowOf } from './bench-row.ts';
import { instancesFor, SERVERS_AN_INSTANCE } from './installation-size.ts';
import { markdownTable } from './markdown-table.ts';
import { ServedController } from './served-controller.ts';
import { createSite } from './site.ts';
import { delaysOf, READ_NODE, readWhile } from './small-reader.ts';
import type { SmallRead } from './small-reads-run.ts';
import { PROBE_FILE, type Stall } from './stall-probe.ts';

const KINDS = 10;
const SERVERS_MAX = 100_000;
const DONE_MS_MAX = 15 * 60_000;
/** Passes, timers and a snapshot that follow a commit at once. */
const AFTER_MS = 2_000;
const REST_MS = 4_000;
const P99_MS_MAX = 25;
const WORST_MS_MAX = 50;
const INSTANCES = 'stacks/instances/';
const AT_REST = 'nothing happens';
const ALL = Array.from({ length: 5 }, () => '/hiera/all');
const LISTS: readonly string[] = [
  ...['/types/all', '/types/clientcert', '/stacks/instances', '/operations/recorded', '/operations/status'],
  '/hiera/instance-0-web-x',
];
const PROBE_MODULE = new URL('./stall-probe.ts', import.meta.url).href;

interface Case {
  readonly title: string;
  /** Starts the work, and resolves once that is over. */
  readonly work: () => Promise<void>;
}

interface Measured {
  readonly title: string;
  readonly seconds: number;
  readonly reads: readonly SmallRead[];
  readonly stalls: readonly Stall[];
}

interface StallsOptions {
  readonly servers: readonly number[];
  readonly profile: boolean;
}

/** Returns the part `stalls` of the table. */
export const STALLS = definePart({
  name: 'stalls',
  summary: 'a small read every 20 ms while large commits are followed and large answers are sent',
  options: {
    servers: {
      kind: 'numbers',
      default: [10_000, 100_000],
      quick: [1_000],
      max: SERVERS_MAX,
      help: 'servers of each installation',
    },
    profile: {
      kind: 'flag',
      help: 'writes a CPU profile of each controller, and its long turns, into the present folder',
    },
  },
  run: benchStalls,
});

async function benchStalls({ servers, profile }: StallsOptions, { folder, say }: BenchContext): Promise<PartReport> {
  const rows: PartRow[] = [];
  const texts: string[] = [];
  for (const size of servers) {
    say(`${size} servers`);
    const measured = await measureSize(join(folder, String(size)), { servers: size, profile, say });
    rows.push(...measured.filter(({ title }) => title !== AT_REST).flatMap((each) => rowsOf(each, size)));
    texts.push(`#### ${size.toLocaleString('en')} servers\n\n${markdownTable(HEAD, measured.map(cellsOf))}`);
  }
  return { rows, text: texts.join('\n\n'), failures: [] };
}

interface Measuring {
  readonly servers: number;
  readonly profile: boolean;
  readonly say: BenchContext['say'];
}

async function measureSize(folder: string, { servers, profile, say }: Measuring): Promise<readonly Measured[]> {
  const instances = instancesFor(servers);
  const files = repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE, kinds: KINDS });
  const first = Object.entries(files).filter(([path]) => !path.startsWith(INSTANCES));
  const site = await createSite(folder, { ...Object.fromEntries(first), ...READ_NODE });
  const noted = join(profile ? process.cwd() : folder, `stalls-${servers}.jsonl`);
  const controller = new ServedController(site, 'stalls', {
    nodeArgs: ['--import', PROBE_MODULE, ...(profile ? ['--cpu-prof', '--cpu-prof-dir', process.cwd()] : [])],
    env: { ...process.env, [PROBE_FILE]: noted },
  });
  await controller.ready();
  const measured: Measured[] = [];
  for (const each of casesOf(controller, { servers: instances * SERVERS_AN_INSTANCE, files })) {
    await controller.quiet(DONE_MS_MAX);
    const { from, to, ...reads } = await measureCase(controller, each);
    const lines = readFileSync(noted, 'utf8').split('\n').slice(0, -1);
    const stalls = lines.map((line) => JSON.parse(line) as Stall).filter(({ at }) => at >= from && at <= to);
    measured.push({ ...reads, stalls });
    say(cellsOf({ ...reads, stalls }).join(' | '));
  }
  await controller.stop();
  return measured;
}

/** Every case begins where the one before has left the controller. */
function casesOf(
  controller: ServedController,
  { servers, files }: { readonly servers: number; readonly files: Readonly<FileChanges> },
): readonly Case[] {
  const follow = async (changes: FileChanges, areDone = true): Promise<void> => {
    await controller.follow(changes, areDone ? servers : 0, DONE_MS_MAX);
    await sleep(AFTER_MS);
  };
  const starting = (start: string): [string, string][] =>
    Object.entries(files).flatMap(([path, text]) => (path.startsWith(start) ? [[path, String(text)]] : []));
  const instances = starting(INSTANCES);
  const wrong = starting('stacks/templates/').map(([path, text]) => [path, text.replace("['web']", "['wbe']")]);
  const changed = instances.map((_, number) => [
    instancePath(number),
    instanceText({ kind: number % KINDS, servers: SERVERS_AN_INSTANCE, version: `2.${number}` }),
  ]);
  const global = 'ntp_servers: [ntp1.example, ntp2.example]\nlog_level: notice\nbackups: true\n';
  return [
    { title: AT_REST, work: () => sleep(REST_MS) },
    { title: 'one commit makes all servers', work: () => follow(Object.fromEntries(instances)) },
    { title: 'a line of the common layer changes', work: () => follow({ 'types/common/global.yaml': global }) },
    { title: 'all instances change', work: () => follow(Object.fromEntries(changed)) },
    { title: '/hiera/all is asked', work: () => ask(controller, ALL) },
    { title: 'long lists and an unknown node are asked', work: () => ask(controller, LISTS) },
    { title: 'a reference of all templates is wrong', work: () => follow(Object.fromEntries(wrong), false) },
  ];
}

async function ask(controller: ServedController, paths: readonly string[]): Promise<void> {
  const client = await controller.client();
  const agent = keepAlive();
  for (const path of paths) await client.request(path, { agent });
  agent.destroy();
}

async function measureCase(
  controller: ServedController,
  { title, work }: Case,
): Promise<Omit<Measured, 'stalls'> & { readonly from: number; readonly to: number }> {
  const read = await readWhile(controller, work);
  return { title, seconds: (read.to - read.from) / 1000, ...read };
}

const HEAD = ['while', 'seconds', 'reads', 'p99, ms', 'worst', 'longest turn', 'its CPU', 'longest GC pause'];

function cellsOf({ title, seconds, reads, stalls }: Measured): string[] {
  const { p99, worst } = delaysOf(reads);
  const turn = longest(stalls, 'turn', ({ ms }) => ms).toFixed(0);
  const pause = longest(stalls, 'pause', ({ ms }) => ms).toFixed(0);
  const numbers = [p99.toFixed(0), worst.toFixed(0), turn, cpuOf(stalls).toFixed(0), pause];
  return [title, seconds.toFixed(1), String(reads.length), ...numbers];
}

/** Returns the rows of the table: how long reads took, and what the controller can do about it. */
function rowsOf({ title, reads, stalls }: Measured, servers: number): readonly PartRow[] {
  const { p99, worst } = delaysOf(reads);
  const work = `small read, ${servers.toLocaleString('en')} servers, while ${title}`;
  const note = `longest turn of the event loop: ${cpuOf(stalls).toFixed(0)} ms of processor time`;
  return [
    rowOf({ work: `${work}: p99`, value: p99, unit: 'ms', target: { atMost: P99_MS_MAX } }),
    rowOf({ work: `${work}: worst`, value: worst, unit: 'ms', target: { atMost: WORST_MS_MAX }, note }),
  ];
}

/** The most processor time of one turn: what another process takes away does not count. */
function cpuOf(stalls: readonly Stall[]): number {
  return longest(stalls, 'turn', ({ cpuMs }) => cpuMs);
}

function longest(stalls: readonly Stall[], kind: Stall['kind'], read: (stall: Stall) => number): number {
  return Math.max(0, ...stalls.filter((stall) => stall.kind === kind).map(read));
}
