// The benchmark `reads`: records over mutual TLS, beside a bare Node HTTPS server that sends the same bytes.
// docs/benchmarks.md says how to read it.
import type { Reply } from '../test/support/https-client.ts';
import { repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { type PartRow, rowOf } from './bench-row.ts';
import { type FloorServer, identityFiles, measureLoad, startFloor } from './load.ts';
import type { Load } from './load-run.ts';
import { markdownTable, median } from './markdown-table.ts';
import type { OwnedProcess } from './owned-process.ts';
import { ServedController } from './served-controller.ts';
import { createSite, type Site } from './site.ts';

const SERVERS_AN_INSTANCE = 10;
const SERVERS_MAX = 100_000;
const ROUNDS_MAX = 50;
const CONNECTIONS = 32;
const WARM_UP_MS = 1_000;
const SECONDS_MAX = 60;
/** Of the bare server's rate. */
const RATIO_MIN = 0.6;
const UNCHANGED_RATIO_MIN = 0.75;

/** One request, and the least share of the bare server's rate at which it is to be answered. */
interface Case {
  /** In the one table. */
  readonly work: string;
  /** In the part's own. */
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

interface ReadsOptions {
  readonly rounds: number;
  readonly servers: number;
  readonly seconds: number;
}

/** Returns the part `reads` of the table. */
export const READS = definePart({
  name: 'reads',
  summary: 'small reads over mutual TLS, beside a bare Node HTTPS server that sends the same bytes',
  options: {
    rounds: { kind: 'number', default: 3, quick: 1, max: ROUNDS_MAX, help: 'rounds; medians count' },
    servers: { kind: 'number', default: 1_000, quick: 100, max: SERVERS_MAX, help: 'servers of the installation' },
    seconds: {
      kind: 'number',
      default: 3,
      quick: 1,
      max: SECONDS_MAX,
      help: 'seconds for each request and server in a round',
    },
  },
  run: benchReads,
});

async function benchReads(options: ReadsOptions, { folder, say }: BenchContext): Promise<PartReport> {
  const { rounds, servers, seconds } = options;
  const instances = Math.ceil(servers / SERVERS_AN_INSTANCE);
  const site = await createSite(folder, { ...repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE }) });
  const controller = new ServedController(site, 'reads');
  await controller.ready();
  await controller.quiet();
  const cases = await casesOf(site, controller);
  const measured = new Map<Case, Rates[]>(cases.map((each) => [each, []]));
  for (let round = 1; round <= rounds; round += 1) {
    for (const [each, rates] of measured) rates.push(await measureRound(controller, each, seconds));
    say(`round ${round} of ${rounds}`);
  }
  await Promise.all(cases.map(({ floor }) => floor.stop()));
  await controller.stop();
  const rows = [...measured].map(([each, rates]) => tableRowOf(each, rates));
  const head = ['read', 'a second', 'bare server', 'ratio', 'CPU, µs', 'of the bare server'];
  const table = markdownTable(
    head,
    [...measured].map(([each, rates]) => cellsOf(each, rates)),
  );
  return { rows, text: `Rounds: ${rounds}. Servers: ${servers}.\n\n${table}`, failures: [] };
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
      work: `GET ${path}`,
      ...{ title: `GET ${path}`, path, headers: {}, status: 200, ratioMin: RATIO_MIN },
      floor: await startFloor(site, `floor-${cases.length}`, answerOf(whole)),
    });
    cases.push({
      work: `GET ${path}, unchanged (304)`,
      ...{ title: 'the same, unchanged (304)', path, headers: { 'If-None-Match': tag }, status: 304 },
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

async function measureRound(controller: ServedController, each: Case, seconds: number): Promise<Rates> {
  const { path, headers, status, floor } = each;
  const times = { connections: CONNECTIONS, warmUpMs: WARM_UP_MS, ms: seconds * 1000 };
  const load = { path, headers, ...times, ...identityFiles(controller.site) };
  const rate = async (port: number, { process }: { readonly process: OwnedProcess }): Promise<Rate> => {
    const before = process.usage().cpuSeconds;
    const { answers, all, seconds } = await measureLoad({ ...load, port } satisfies Load, status);
    const cpuMicroseconds = ((process.usage().cpuSeconds - before) * 1e6) / all;
    return { perSecond: answers / seconds, cpuMicroseconds };
  };
  return { bare: await rate(floor.port, floor), treeline: await rate(await controller.apiPort(), controller) };
}

function tableRowOf({ work, ratioMin }: Case, rates: readonly Rates[]): PartRow {
  return rowOf({
    ...{ work, value: median(rates.map(({ treeline }) => treeline.perSecond)), unit: '/s', target: { ratioMin } },
    peer: {
      name: 'bare Node HTTPS',
      value: median(rates.map(({ bare }) => bare.perSecond)),
      ratio: median(rates.map(({ treeline, bare }) => treeline.perSecond / bare.perSecond)),
    },
  });
}

function cellsOf({ title }: Case, rates: readonly Rates[]): string[] {
  const middle = (read: (rates: Rates) => number, digits = 0): string => median(rates.map(read)).toFixed(digits);
  return [
    ...[title, middle(({ treeline }) => treeline.perSecond), middle(({ bare }) => bare.perSecond)],
    middle(({ treeline, bare }) => treeline.perSecond / bare.perSecond, 2),
    ...[middle(({ treeline }) => treeline.cpuMicroseconds), middle(({ bare }) => bare.cpuMicroseconds)],
  ];
}
