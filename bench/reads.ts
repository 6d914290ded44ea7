// The benchmark `reads`: records over mutual TLS, beside a bare Node HTTPS server that sends the same bytes.
// docs/benchmarks.md says how to read it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Reply } from '../test/support/https-client.ts';
import { repositoryFiles } from '../test/support/sized-repository.ts';
import { type FloorServer, identityFiles, measureLoad, startFloor } from './load.ts';
import type { Load } from './load-run.ts';
import { machineOf, say, wholeNumber } from './machine.ts';
import { markdownTable, median } from './markdown-table.ts';
import type { OwnedProcess } from './owned-process.ts';
import { ServedController } from './served-controller.ts';
import { createSite, type Site } from './site.ts';

const SERVERS_AN_INSTANCE = 10;
const SERVERS_MAX = 100_000;
const ROUNDS_MAX = 50;
const CONNECTIONS = 32;
const WARM_UP_MS = 1_000;
const MEASURE_MS = 3_000;
/** Of the bare server's rate. */
const RATIO_MIN = 0.6;
const UNCHANGED_RATIO_MIN = 0.75;

/** One request, and the least share of the bare server's rate at which it is to be answered. */
interface Case {
  readonly title: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly ratioMin: number;
  readonly floor: FloorServer;
}

/** What a server answered in one round. */
interface Rate {
  readonly perSecond: number;
  /** Processor time of one answer, microseconds; says more than the rate where the machine is busy. */
  readonly cpuMicroseconds: number;
}

interface Rates {
  readonly treeline: Rate;
  readonly bare: Rate;
}

/** Prints a report in Markdown, with progress on standard error. Returns whether every ratio reaches its target. */
export async function benchReads(args: readonly string[]): Promise<boolean> {
  const { rounds, servers } = optionsOf(args);
  const folder = mkdtempSync(join(tmpdir(), 'treeline-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const instances = Math.ceil(servers / SERVERS_AN_INSTANCE);
  const site = await createSite(folder, { ...repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE }) });
  const controller = new ServedController(site, 'reads');
  await controller.ready();
  await controller.quiet();
  const cases = await casesOf(site, controller);
  const measured = new Map<Case, Rates[]>(cases.map((each) => [each, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [each, rates] of measured) rates.push(await measureRound(controller, each));
    say(`round ${round} of ${rounds}`);
  }
  await Promise.all(cases.map(({ floor }) => floor.stop()));
  await controller.stop();
  const rows = [...measured].map(([each, rates]) => rowOf(each, rates));
  const head = ['read', 'a second', 'bare server', 'ratio', 'CPU, µs', 'of the bare server', 'target', 'verdict'];
  const table = markdownTable(
    head,
    rows.map(({ cells }) => cells),
  );
  process.stdout.write(`${machineOf()}. Rounds: ${rounds}. Servers: ${servers}.\n\n${table}\n`);
  return rows.every(({ isReached }) => isReached);
}

/** The bare servers send, byte for byte, what the controller sends now; but for the date and the request's id. */
async function casesOf(site: Site, controller: ServedController): Promise<readonly Case[]> {
  const client = await controller.client();
  const paths = ['/hiera/instance-0-web-1', '/hiera/instance-0-web-1/port', '/stacks/instances/instance-0'];
  const cases: Case[] = [];
  for (const path of paths) {
    const whole = await client.request(path);
    const tag = String(whole.headers.etag);
    const unchanged = await client.request(path, { headers: { 'If-None-Match': tag } });
    cases.push({
      ...{ title: `GET ${path}`, path, headers: {}, status: 200, ratioMin: RATIO_MIN },
      floor: await startFloor(site, `floor-${cases.length}`, answerOf(whole)),
    });
    cases.push({
      ...{ title: `the same, unchanged (304)`, path, headers: { 'If-None-Match': tag }, status: 304 },
      ratioMin: UNCHANGED_RATIO_MIN,
      floor: await startFloor(site, `floor-${cases.length}`, answerOf(unchanged)),
    });
  }
  return cases;
}

function answerOf({ status, headers, bytes }: Reply): Parameters<typeof startFloor>[2] {
  const kept = Object.entries(headers).filter(
    ([name]) => name !== 'date' && name !== 'connection' && name !== 'keep-alive',
  );
  return {
    status,
    headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
    body: bytes.toString(),
  };
}

async function measureRound(controller: ServedController, { path, headers, status, floor }: Case): Promise<Rates> {
  const times = { connections: CONNECTIONS, warmUpMs: WARM_UP_MS, ms: MEASURE_MS };
  const load = { path, headers, ...times, ...identityFiles(controller.site) };
  const rate = async (port: number, { process }: { readonly process: OwnedProcess }): Promise<Rate> => {
    const before = process.usage().cpuSeconds;
    const { answers, all, seconds } = await measureLoad({ ...load, port } satisfies Load, status);
    const cpuMicroseconds = ((process.usage().cpuSeconds - before) * 1e6) / all;
    return { perSecond: answers / seconds, cpuMicroseconds };
  };
  return { bare: await rate(floor.port, floor), treeline: await rate(await controller.apiPort(), controller) };
}

function rowOf(
  { title, ratioMin }: Case,
  rates: readonly Rates[],
): { readonly cells: string[]; readonly isReached: boolean } {
  const ratio = median(rates.map(({ treeline, bare }) => treeline.perSecond / bare.perSecond));
  const isReached = ratio >= ratioMin;
  const middle = (read: (rates: Rates) => number): string => median(rates.map(read)).toFixed(0);
  const cells = [
    ...[title, middle(({ treeline }) => treeline.perSecond), middle(({ bare }) => bare.perSecond), ratio.toFixed(2)],
    ...[middle(({ treeline }) => treeline.cpuMicroseconds), middle(({ bare }) => bare.cpuMicroseconds)],
    ...[`≥ ${ratioMin}`, isReached ? 'reached' : 'MISSED'],
  ];
  return { cells, isReached };
}

function optionsOf(args: readonly string[]): { readonly rounds: number; readonly servers: number } {
  const { values } = parseArgs({
    args: [...args],
    options: { rounds: { type: 'string', default: '3' }, servers: { type: 'string', default: '1000' } },
  });
  return {
    rounds: wholeNumber(values.rounds, { option: '--rounds', max: ROUNDS_MAX }),
    servers: wholeNumber(values.servers, { option: '--servers', max: SERVERS_MAX }),
  };
}
