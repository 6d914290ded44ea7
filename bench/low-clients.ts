// The cases of `hostile` in which one client with few rights asks as much as it can over real TLS: what the answers to other
// clients, their writes and the commits of others take meanwhile, beside what they take in quiet.
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type DemoCredentials, ensureCredentials } from '../src/cli/demo/credentials.ts';
import { isMap } from '../src/model/json.ts';
import { type HttpsClient, keepAlive } from '../test/support/https-client.ts';
import { instancePath, instanceText, repositoryFiles, rolePath, roleText } from '../test/support/sized-repository.ts';
import type { BenchContext } from './bench-part.ts';
import type { LowAnswers, LowClient } from './low-client-run.ts';
import { markdownTable } from './markdown-table.ts';
import { type ServedController, serveNewSite } from './served-controller.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MIB = 2 ** 20;
const SIZE = { instances: 400, servers: 4 };
/** Its servers make about a thousand events. */
const LARGE = { instance: SIZE.instances, servers: 300 };
const RUN_MS = 6_000;
const STARTED_MS = 1_000;
const PAUSE_MS = 10;
/** Commits and writes are rarer: each is work for everybody. */
const WRITE_PAUSE_MS = 250;
const FOLLOWED_MS_MAX = 120_000;

type LowCase = Omit<LowClient, 'port' | 'ca' | 'key' | 'cert'> & { readonly name: string; readonly title: string };

const DRY_RUN = JSON.stringify({ stackTemplate: 'template-1', parameters: { count: '4', version: 'dry' } });

export const LOW_CASES: readonly LowCase[] = [
  {
    name: 'waits',
    title: '130 reads that wait for unknown commits',
    connections: 130,
    path: '/tree',
    minCommit: '{id}',
  },
  {
    name: 'unread',
    title: '200 clients that do not read all records',
    ...{ connections: 200, silentPerSecond: 25, path: '/hiera/all?info=true' },
  },
  { name: 'lists', title: '200 connections with long lists', connections: 200, path: '/operations/recorded' },
  { name: 'unknown', title: '50 connections with unknown nodes', connections: 50, path: '/hiera/instance-{id}' },
  {
    name: 'events',
    title: '50 connections with pages of events',
    ...{ connections: 50, path: `/stacks/instances/instance-${LARGE.instance}/events?limit=1000` },
  },
  {
    name: 'dry-runs',
    title: '50 connections with dry runs',
    ...{ connections: 50, path: '/stacks/instances/instance-1?dry_run=true&force=true', body: DRY_RUN },
  },
];

/** The median and the longest of one kind of work of honest clients, milliseconds. */
interface Times {
  readonly median: number;
  readonly worst: number;
}

/** What honest clients saw while a case went on. */
export interface LowRun {
  readonly title: string;
  readonly read: Times;
  readonly list: Times;
  readonly write: Times;
  readonly commit: Times;
  readonly failures: number;
  readonly peakBytes: number;
  readonly answers: LowAnswers;
}

/** Returns what honest clients see in quiet, and then during each case, of one controller. */
export async function measureLowClients(
  cases: readonly LowCase[],
  { folder, say }: BenchContext,
): Promise<readonly LowRun[]> {
  const large = { [instancePath(LARGE.instance)]: instanceText({ kind: 0, servers: LARGE.servers }) };
  const controller = await serveNewSite(folder, 'low', { ...repositoryFiles({ ...SIZE, kinds: 50 }), ...large });
  const credentials = await ensureCredentials(join(folder, 'pki'), Date.now());
  const { serialNumber } = new X509Certificate(readFileSync(credentials.clients['automation-endpoint'].cert));
  const { repository } = controller.site;
  await repository.commit({ [`clients/${serialNumber}.yaml`]: 'role: automation-endpoint\n' });
  await controller.quiet();
  const runs: LowRun[] = [];
  for (const each of [undefined, ...cases]) {
    const low = each && new LowProcess(each, await controller.apiPort(), credentials);
    if (low !== undefined) await sleep(STARTED_MS);
    const run = await observeAll(controller, each?.title ?? 'nothing');
    runs.push({ ...run, answers: (await low?.stop()) ?? {} });
    say(`${run.title}: ${lineOf(runs.at(-1) ?? { ...run, answers: {} })}`);
    await controller.quiet();
  }
  await controller.stop().catch(() => say('the controller did not stop cleanly'));
  return runs;
}

/** The client with few rights, in a process of its own: its work is not that of the honest clients. */
class LowProcess {
  readonly #child: ChildProcess;
  #output = '';

  constructor(order: LowCase, port: number, { ca, clients }: DemoCredentials) {
    const client: LowClient = { ...order, port, ca, ...clients['automation-endpoint'] };
    this.#child = spawn(process.execPath, ['bench/low-client-run.ts', JSON.stringify(client)], {
      cwd: ROOT,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
    });
  }

  async stop(): Promise<LowAnswers> {
    const closed = once(this.#child, 'close');
    this.#child.stdin?.end();
    await closed;
    const answers: unknown = JSON.parse(this.#output);
    return isMap(answers) ? (answers as LowAnswers) : {};
  }
}

async function observeAll(controller: ServedController, title: string): Promise<Omit<LowRun, 'answers'>> {
  const client = await controller.client();
  let turn = 0;
  const reads = repeat(
    PAUSE_MS,
    get(client, () => `/hiera/instance-${turn++ % SIZE.instances}-web-1`),
  );
  const lists = repeat(
    WRITE_PAUSE_MS,
    get(client, () => '/operations/recorded'),
  );
  // One after the other: a push of both at once would refuse one of them.
  const line = inTurn();
  const writes = repeat(WRITE_PAUSE_MS, line(writeOf(client)));
  const commits = repeat(
    WRITE_PAUSE_MS,
    line(() => commitOnce(controller, client, turn++)),
  );
  await sleep(RUN_MS);
  const [read, list, write, commit] = await Promise.all([reads(), lists(), writes(), commits()]);
  const failures = read.failures + list.failures + write.failures + commit.failures;
  const { peakBytes } = controller.process.usage();
  return { ...{ title, read, list, write, commit }, failures, peakBytes };
}

/** Each work resolves with how long it took. */
type TimedWork = () => Promise<number>;

function get(client: HttpsClient, path: () => string): TimedWork {
  const agent = keepAlive();
  return () => timed(async () => (await client.request(path(), { agent })).status === 200);
}

async function timed(work: () => Promise<boolean>): Promise<number> {
  const start = performance.now();
  if (!(await work())) throw new Error('the answer was no success');
  return performance.now() - start;
}

function writeOf(client: HttpsClient): TimedWork {
  const agent = keepAlive();
  const headers = { 'Content-Type': 'application/json' };
  return () =>
    timed(async () => {
      const body = JSON.stringify({ name: 'honest', revision: performance.now() });
      return (await client.request('/types/configuration/', { method: 'POST', headers, body, agent })).status === 201;
    });
}

/** Changes what every fiftieth instance draws on, so that lists and records are made again. */
async function commitOnce({ site }: ServedController, client: HttpsClient, turn: number): Promise<number> {
  const start = performance.now();
  const commit = await site.repository.commit({ [rolePath(turn % 50)]: roleText(10_000 + turn) });
  const headers = { 'X-Treeline-Min-Commit': commit };
  while (performance.now() - start < FOLLOWED_MS_MAX) {
    if ((await client.request('/tree', { headers })).status === 200) return performance.now() - start;
  }
  throw new Error('an honest commit was not followed in time');
}

/** Returns a function that has works done one at a time. Each resolves with its own time, without the wait. */
function inTurn(): (work: TimedWork) => TimedWork {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => () => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };
}

/** Does something again and again, one at a time; the function that is returned ends that. */
function repeat(pauseMs: number, work: TimedWork): () => Promise<Times & { readonly failures: number }> {
  let isOver = false;
  const working = (async () => {
    const times: number[] = [];
    let failures = 0;
    while (!isOver) {
      const start = performance.now();
      const ms = await work().catch(() => undefined);
      if (ms === undefined) failures += 1;
      times.push(ms ?? performance.now() - start);
      await sleep(pauseMs);
    }
    const sorted = times.sort((a, b) => a - b);
    return { median: sorted[Math.floor(sorted.length / 2)] ?? 0, worst: sorted.at(-1) ?? 0, failures };
  })();
  return () => {
    isOver = true;
    return working;
  };
}

function lineOf({ read, list, write, commit, failures, peakBytes, answers }: LowRun): string {
  const shown = Object.entries({ read, list, write, commit }).map(([name, times]) => `${name} ${timesText(times)}`);
  return `${shown.join(', ')} ms, ${failures} failed, ${Math.round(peakBytes / MIB)} MiB; ${JSON.stringify(answers)}`;
}

function timesText({ median, worst }: Times): string {
  return `${Math.round(median)} (${Math.round(worst)})`;
}

/** Returns the report as Markdown. */
export function lowReportOf(runs: readonly LowRun[]): string {
  return markdownTable(
    [
      'one client sends',
      'read, ms',
      'list, ms',
      'write, ms',
      'commit, ms',
      'failed',
      'peak memory, MiB',
      'it was answered',
    ],
    runs.map(({ title, read, list, write, commit, failures, peakBytes, answers }) => [
      title,
      ...[read, list, write, commit].map(timesText),
      String(failures),
      Math.round(peakBytes / MIB).toString(),
      Object.entries(answers)
        .map(([status, count]) => `${count} × ${status}`)
        .join(', ') || '–',
    ]),
  );
}
