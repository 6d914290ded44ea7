// The benchmark `hostile`: whether a real controller on a real repository answers honest clients in time, and within its
// memory, while an attacker pushes what was made to stop it, or one client asks as much as it can (low-clients.ts).
// docs/benchmarks.md says how to read it.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runGit } from '../test/support/git-repository.ts';
import { type HttpsClient, keepAlive } from '../test/support/https-client.ts';
import { instancePath, instanceText, repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { rowOf } from './bench-row.ts';
import { CASES, type HostileCase } from './hostile-cases.ts';
import { LOW_CASES, type LowRun, lowReportOf, measureLowClients } from './low-clients.ts';
import { markdownTable } from './markdown-table.ts';
import { type ServedController, serveNewSite } from './served-controller.ts';
import type { Site } from './site.ts';

const MIB = 2 ** 20;
const LATENCY_MS_MAX = 500;
const PEAK_BYTES_MAX = 512 * MIB;
const INSTANCES = 100;
const SERVERS_AN_INSTANCE = 2;
const PAUSE_MS = 10;
const NAMES = [...CASES, ...LOW_CASES].map(({ name }) => name);
/** How many times as long as in quiet an honest client may wait, in the median. */
const TIMES_QUIET_MAX = 4;
/** What takes no longer is not slow, whatever it takes in quiet. */
const MEDIAN_MS_FREE = 50;
/** An answer that takes longer counts as this. */
const ANSWER_MS_MAX = 30_000;
/** Until the controller has said what becomes of a commit. */
const SETTLED_MS_MAX = 120_000;
/** After that: what follows from a commit is not over when it is told. */
const AFTER_MS = 3_000;

/** The waits of honest clients while a case went on. */
interface HostileRun {
  readonly title: string;
  /** The longest that `/livez` took, milliseconds. */
  readonly livezMs: number;
  /** The longest that a small read over TLS took. */
  readonly readMs: number;
  /** Answers that were none, or no success. */
  readonly failures: number;
  readonly peakBytes: number;
  /** The verdict of the controller on the commit. */
  readonly outcome: string;
  /** It followed the next commit, which takes back the hostile one. */
  readonly isFollowing: boolean;
}

/** Returns the part `hostile`, which runs only where it is named. It fails where a case does not keep the limits. */
export const HOSTILE = definePart({
  name: 'hostile',
  summary: 'answers to honest clients while an attacker pushes or asks what was made to stop the controller',
  options: { only: { kind: 'names', of: NAMES, quick: NAMES.slice(0, 1), help: 'the cases' } },
  run: benchHostile,
});

async function benchHostile(
  { only }: { readonly only: readonly string[] },
  context: BenchContext,
): Promise<PartReport> {
  const runs: HostileRun[] = [];
  for (const each of CASES.filter(({ name }) => only.includes(name))) {
    const folder = join(context.folder, each.name);
    const run = await measure({ ...context, folder }, each);
    runs.push(run);
    const worst = Math.round(Math.max(run.livezMs, run.readMs));
    context.say(`${run.title}: ${worst} ms, ${mib(run.peakBytes)} MiB, ${verdictOf(run)}`);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  const lowCases = LOW_CASES.filter(({ name }) => only.includes(name));
  const lowRuns = lowCases.length === 0 ? [] : await measureLowClients(lowCases, context);
  const reports = [pushReport(runs), lowReport(lowRuns)];
  return {
    rows: reports.flatMap(({ rows }) => rows),
    text: reports
      .map(({ text }) => text)
      .filter((text) => text !== '')
      .join('\n\n'),
    failures: reports.flatMap(({ failures }) => failures),
  };
}

/** Compares what honest clients waited with what they wait in quiet, the first run. */
function lowReport([quiet, ...runs]: readonly LowRun[]): PartReport {
  if (quiet === undefined) return { rows: [], text: '', failures: [] };
  const kinds = ['read', 'list', 'write', 'commit'] as const;
  const rows = kinds.map((kind) =>
    rowOf({
      ...{ work: `${runs.length} low clients: ${kind} beside them, times quiet`, unit: '' },
      value: Math.max(...runs.map((run) => timesQuiet(run[kind].median, quiet[kind].median))),
      target: { atMost: TIMES_QUIET_MAX },
    }),
  );
  const peak = rowOf({
    ...{ work: `${runs.length} low clients: peak memory`, unit: 'MiB', target: { atMost: PEAK_BYTES_MAX / MIB } },
    value: Math.max(...runs.map(({ peakBytes }) => peakBytes)) / MIB,
  });
  const failures = runs.filter((run) => run.failures > 0).map((run) => `${run.title}: ${run.failures} answers failed`);
  return { rows: [...rows, peak], text: lowReportOf([quiet, ...runs]), failures };
}

function timesQuiet(ms: number, quietMs: number): number {
  return ms <= MEDIAN_MS_FREE ? Math.min(1, ms / quietMs) : ms / quietMs;
}

function pushReport(runs: readonly HostileRun[]): PartReport {
  if (runs.length === 0) return { rows: [], text: '', failures: [] };
  const work = `${runs.length} hostile pushes`;
  const broken = runs.filter((run) => verdictOf(run) !== 'held');
  return {
    rows: [
      rowOf({
        ...{ work: `${work}: worst answer to an honest client`, unit: 'ms', target: { atMost: LATENCY_MS_MAX } },
        value: Math.max(...runs.map(({ livezMs, readMs }) => Math.max(livezMs, readMs))),
      }),
      rowOf({
        ...{ work: `${work}: peak memory`, unit: 'MiB', target: { atMost: PEAK_BYTES_MAX / MIB } },
        value: Math.max(...runs.map(({ peakBytes }) => peakBytes)) / MIB,
      }),
    ],
    text: reportOf(runs),
    failures: broken.map((run) => `${run.title}: ${verdictOf(run)}`),
  };
}

async function measure({ folder, say }: BenchContext, { title, files, history }: HostileCase): Promise<HostileRun> {
  const installation = repositoryFiles({ instances: INSTANCES, servers: SERVERS_AN_INSTANCE });
  const controller = await serveNewSite(folder, 'hostile', installation);
  const { site } = controller;
  const good = await site.repository.head();
  // Made beforehand, aside: what git does to store it is not what is measured.
  await site.repository.git('config', 'core.compression', '1');
  await site.repository.git('config', 'core.bigFileThreshold', '1m');
  const before = history === undefined ? good : await addHistory(site, good, history);
  const hostile = await site.repository.commit(files(), { branch: 'aside', parents: [before] });
  say(`${title}: pushing`);
  const livez = observe(controller.livez());
  const reads = observe(readerOf(await controller.client()));
  await site.repository.git('update-ref', 'refs/heads/main', hostile);
  const outcome = await outcomeOf(controller, hostile);
  await sleep(AFTER_MS);
  const seen = [await livez.stop(), await reads.stop()] as const;
  const { peakBytes } = controller.process.usage();
  const isFollowing = await followsNext(controller, site, hostile);
  await controller.stop().catch(() => say(`${title}: the controller did not stop cleanly`));
  const [{ worstMs: livezMs }, { worstMs: readMs }] = seen;
  const failures = seen.reduce((sum, each) => sum + each.failures, 0);
  return { title, livezMs, readMs, failures, peakBytes, outcome, isFollowing };
}

/** Returns the last of the commits, which change nothing. */
async function addHistory(
  { repository }: Site,
  from: string,
  { count, messageBytes }: NonNullable<HostileCase['history']>,
): Promise<string> {
  const message = Buffer.alloc(messageBytes, 'x');
  const parts = Array.from({ length: count }, (_, i) => [
    Buffer.from(
      `commit refs/heads/aside\ncommitter A <a@example.org> ${1_700_000_000 + i} +0000\ndata ${messageBytes}\n`,
    ),
    message,
    Buffer.from(i === 0 ? `\nfrom ${from}\n` : '\n'),
  ]);
  await runGit(['-C', repository.path, 'fast-import', '--quiet', '--force'], Buffer.concat(parts.flat()));
  return await repository.git('rev-parse', 'refs/heads/aside');
}

function readerOf(client: HttpsClient): () => Promise<number> {
  const agent = keepAlive();
  let turn = 0;
  return async () => {
    const path = `/stacks/instances/instance-${turn++ % INSTANCES}/status`;
    return (await client.request(path, { agent })).status;
  };
}

interface Seen {
  readonly worstMs: number;
  readonly failures: number;
}

/** Asks again and again, one question at a time, until it is stopped. */
function observe(ask: () => Promise<number>): { stop(): Promise<Seen> } {
  let isOver = false;
  const watching = (async (): Promise<Seen> => {
    let worstMs = 0;
    let failures = 0;
    while (!isOver) {
      const start = performance.now();
      const status = await Promise.race([ask().catch(() => 0), sleep(ANSWER_MS_MAX, 0, { ref: false })]);
      worstMs = Math.max(worstMs, performance.now() - start);
      if (status !== 200) failures += 1;
      await sleep(PAUSE_MS);
    }
    return { worstMs, failures };
  })();
  return {
    stop() {
      isOver = true;
      return watching;
    },
  };
}

const FOLLOWED = 'commit followed';
const NOT_FOLLOWED = 'the commit is not followed; everything stays as it is';
const NOT_READ = 'the repository could not be followed; everything stays as it is';

async function outcomeOf(controller: ServedController, commit: string): Promise<string> {
  try {
    return await controller.process.until('it told what becomes of the commit', SETTLED_MS_MAX, () => {
      if (isFollowed(controller, commit)) return 'followed';
      if (controller.log.lines(NOT_FOLLOWED).some((line) => line.commit === commit)) return 'not followed';
      return controller.log.lines(NOT_READ).length > 0 ? 'refused' : undefined;
    });
  } catch (error) {
    if (controller.process.isOver) return 'the end of the process';
    if (error instanceof Error) return 'unknown in time';
    throw error;
  }
}

function isFollowed(controller: ServedController, commit: string): boolean {
  return controller.log.lines(FOLLOWED).some((line) => line.commit === commit);
}

/** The hostile commit stays in the history, as it would: only its content is taken back. */
async function followsNext(controller: ServedController, { repository }: Site, hostile: string): Promise<boolean> {
  const tree = 'main~1^{tree}';
  const reverted = await repository.git('commit-tree', tree, '-p', hostile, '-m', 'Take it back');
  await repository.git('update-ref', 'refs/heads/main', reverted);
  const next = await repository.commit({ [instancePath(0)]: instanceText({ kind: 0, servers: 2, version: '2' }) });
  try {
    const isThere = (): true | undefined => isFollowed(controller, next) || undefined;
    return await controller.process.until('it followed the next commit', SETTLED_MS_MAX, isThere);
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}

function verdictOf({ livezMs, readMs, failures, peakBytes, isFollowing }: HostileRun): string {
  const broken = [
    Math.max(livezMs, readMs) > LATENCY_MS_MAX ? 'too slow' : '',
    failures > 0 ? `${failures} answers failed` : '',
    peakBytes > PEAK_BYTES_MAX ? 'too much memory' : '',
    isFollowing ? '' : 'does not follow the next commit',
  ].filter((each) => each !== '');
  return broken.length === 0 ? 'held' : broken.join(', ');
}

function mib(bytes: number): string {
  return Math.round(bytes / MIB).toString();
}

/** Returns the report as Markdown. */
export function reportOf(runs: readonly HostileRun[]): string {
  const table = markdownTable(
    ['pushed', 'the commit is', '`/livez`, worst ms', 'read, worst ms', 'peak memory, MiB', 'verdict'],
    runs.map((run) => [
      run.title,
      run.outcome,
      Math.round(run.livezMs).toString(),
      Math.round(run.readMs).toString(),
      mib(run.peakBytes),
      verdictOf(run),
    ]),
  );
  const held = runs.filter((run) => verdictOf(run) === 'held').length;
  const limits = `Limits: ${LATENCY_MS_MAX} ms, ${mib(PEAK_BYTES_MAX)} MiB.`;
  return `${table}\n\n${limits} ${held === runs.length ? 'All of them held.' : `${held} of ${runs.length} held.`}`;
}
