// The benchmark `stalls`: a small read every 20 ms while large commits are followed and large answers are sent.
// docs/benchmarks.md explains the results.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileChanges } from '../test/support/git-repository.ts';
import { keepAlive } from '../test/support/https-client.ts';
import { instancePath, instanceText, repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, type BenchPart, type PartReport, type PartRow, rowOf, type Target } from './bench-row.ts';
import { ServedController } from './served-controller.ts';
import { createSite, instancesFor, SERVERS_AN_INSTANCE } from './site.ts';
import { delaysOf, READ_NODE, readWhile } from './small-reader.ts';
import type { SmallRead } from './small-reads-run.ts';
import { PROBE_FILE, type Stall } from './stall-probe.ts';

const KINDS = 10;
const DONE_MS_MAX = 15 * 60_000;
/** The time for passes, timers and a snapshot right after a commit. */
const AFTER_MS = 2_000;
/** The targets are for the size for which Treeline is designed. Beyond it, nothing is promised. */
const PROMISED_SERVERS = 10_000;
const P99_MS_MAX = 25;
const WORST_MS_MAX = 50;
const INSTANCES = 'stacks/instances/';
const ALL = Array.from({ length: 5 }, () => '/hiera/all');
const LISTS: readonly string[] = [
  ...['/types/all', '/types/clientcert', '/stacks/instances', '/operations/recorded', '/operations/status'],
  '/hiera/instance-0-web-x',
];
const PROBE_MODULE = new URL('./stall-probe.ts', import.meta.url).href;

interface Case {
  readonly title: string;
  /** Does the work, and resolves when it has ended. */
  readonly work: () => Promise<void>;
}

interface Measured {
  readonly title: string;
  readonly reads: readonly SmallRead[];
  readonly stalls: readonly Stall[];
}

/** The part `stalls` of the table. */
export const STALLS: BenchPart = {
  name: 'stalls',
  summary: 'a small read every 20 ms while large commits are followed and large answers are sent',
  run: benchStalls,
};

async function benchStalls({ folder, isQuick, say }: BenchContext): Promise<PartReport> {
  const rows: PartRow[] = [];
  for (const size of isQuick ? [1_000] : [10_000, 100_000]) {
    say(`${size} servers`);
    const measured = await measureSize(join(folder, String(size)), size);
    rows.push(...measured.flatMap((each) => rowsOf(each, size)));
  }
  return { rows, failures: [] };
}

async function measureSize(folder: string, servers: number): Promise<readonly Measured[]> {
  const instances = instancesFor(servers);
  const files = repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE, kinds: KINDS });
  const first = Object.entries(files).filter(([path]) => !path.startsWith(INSTANCES));
  const site = await createSite(folder, { ...Object.fromEntries(first), ...READ_NODE });
  const noted = join(folder, 'stalls.jsonl');
  const controller = new ServedController(site, 'stalls', {
    nodeArgs: ['--import', PROBE_MODULE],
    env: { ...process.env, [PROBE_FILE]: noted },
  });
  await controller.ready();
  const measured: Measured[] = [];
  for (const each of casesOf(controller, { servers: instances * SERVERS_AN_INSTANCE, files })) {
    await controller.quiet(DONE_MS_MAX);
    const { reads, from, to } = await readWhile(controller, each.work);
    const lines = readFileSync(noted, 'utf8').split('\n').slice(0, -1);
    const stalls = lines.map((line) => JSON.parse(line) as Stall).filter(({ at }) => at >= from && at <= to);
    measured.push({ title: each.title, reads, stalls });
  }
  await controller.stop();
  return measured;
}

/** Each case begins with the state that the case before has left. */
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

/** Returns the rows of the table: the times of reads, with the longest turn of the controller. */
function rowsOf({ title, reads, stalls }: Measured, servers: number): readonly PartRow[] {
  const { p99, worst } = delaysOf(reads);
  const work = `small read, ${servers.toLocaleString('en')} servers, while ${title}`;
  const note = `longest turn of the event loop: ${cpuOf(stalls).toFixed(0)} ms of processor time`;
  const target = (atMost: number): Target => (servers > PROMISED_SERVERS ? {} : { atMost });
  return [
    rowOf({ work: `${work}: p99`, value: p99, unit: 'ms', target: target(P99_MS_MAX) }),
    rowOf({ work: `${work}: worst`, value: worst, unit: 'ms', target: target(WORST_MS_MAX), note }),
  ];
}

/** Returns the maximum processor time of one turn, which excludes waits for other processes. */
function cpuOf(stalls: readonly Stall[]): number {
  return Math.max(0, ...stalls.map(({ cpuMs }) => cpuMs));
}
