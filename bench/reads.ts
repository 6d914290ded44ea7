// The benchmark `reads`: reads over mutual TLS, compared with a bare Node HTTPS server that sends the same bytes, in
// turns. docs/benchmarks.md explains the results.
import type { Reply } from '../test/support/https-client.ts';
import { repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, type BenchPart, median, type PartReport, type PartRow, rowOf } from './bench-row.ts';
import { type FloorKind, type FloorServer, identityFiles, measureLoad, startFloor } from './load.ts';
import { type ServedController, serveNewSite } from './served-controller.ts';
import { instancesFor, SERVERS_AN_INSTANCE } from './site.ts';

/** The minimum rate relative to the bare server. */
const RATIO_MIN = 0.4;
const CONNECTIONS = 32;
const WARM_UP_MS = 1_000;

const PATHS = ['/hiera/instance-0-web-1', '/hiera/instance-0-web-1/port', '/stacks/instances/instance-0'];
/** The request that all peers answer. */
const COMPARED = PATHS[0];

const TREELINE = 'Treeline';
const BARE = 'bare Node HTTPS';
const EXPRESS = 'Express';

/** One request, and the servers that answer it. */
interface ReadCase {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  /** By name, in the order of requests. */
  readonly servers: ReadonlyMap<string, FloorServer>;
  /** The rates by server, of each round. */
  readonly rounds: ReadonlyMap<string, Rate>[];
}

/** The answers of a server in one round. */
interface Rate {
  readonly perSecond: number;
  /** Processor time of one answer in microseconds, which is more reliable than the rate on a busy machine. */
  readonly cpuMicroseconds: number;
}

/** The part `reads` of the table. */
export const READS: BenchPart = {
  name: 'reads',
  summary: 'small reads over mutual TLS, beside a bare Node HTTPS server that sends the same bytes',
  run: benchReads,
};

async function benchReads({ folder, isQuick, say }: BenchContext): Promise<PartReport> {
  const [rounds, servers, seconds] = isQuick ? [1, 100, 1] : [3, 1_000, 3];
  const files = repositoryFiles({ instances: instancesFor(servers), servers: SERVERS_AN_INSTANCE });
  const controller = await serveNewSite(folder, 'reads', files);
  const cases = await startCases(controller);
  for (let round = 1; round <= rounds; round += 1) {
    for (const each of cases) each.rounds.push(await measureCase(each, controller, seconds));
    say(`round ${round} of ${rounds}`);
  }
  const peers = cases.flatMap(({ servers: all }) => [...all].filter(([name]) => name !== TREELINE));
  await Promise.all(peers.map(([, server]) => server.process.stop()));
  await controller.stop();
  return { rows: cases.flatMap(tableRowsOf), failures: [] };
}

/** Returns a row for each peer of a case. */
function tableRowsOf({ path, status, servers, rounds }: ReadCase): readonly PartRow[] {
  const read = (key: keyof Rate, name: string) => rounds.map((round) => round.get(name)?.[key] ?? Number.NaN);
  const rate = (name: string): number => median(read('perSecond', name));
  const peers = [...servers.keys()].filter((name) => name !== TREELINE);
  return peers.map((name) => {
    const theirs = read('perSecond', name);
    // The median of the rounds' ratios, so that a busy minute affects both. Processor time is steady even on a busy
    // machine.
    const ratio = median(read('perSecond', TREELINE).map((own, round) => own / (theirs[round] ?? Number.NaN)));
    const byProcessor = median(read('cpuMicroseconds', name)) / median(read('cpuMicroseconds', TREELINE));
    return rowOf({
      work: status === 304 ? `GET ${path}, unchanged (304)` : `GET ${path}`,
      value: rate(TREELINE),
      unit: '/s',
      target: { ratioMin: RATIO_MIN },
      peer: { name, value: rate(name), ratio },
      note: `by processor time the ratio is ${byProcessor.toFixed(2)}`,
    });
  });
}

/**
 * Returns the cases with running servers. The peers send the same bytes as the controller, except the date and the
 * request id.
 */
async function startCases(controller: ServedController): Promise<readonly ReadCase[]> {
  const client = await controller.client();
  const cases: ReadCase[] = [];
  for (const path of PATHS) {
    const whole = await client.request(path);
    const headers = { 'If-None-Match': String(whole.headers.etag) };
    const unchanged = await client.request(path, { headers });
    for (const [sent, reply] of [
      [{}, whole],
      [headers, unchanged],
    ] as const) {
      const servers = await startServers(controller, { name: `${cases.length}`, path, reply });
      cases.push({ path, headers: sent, status: reply.status, servers, rounds: [] });
    }
  }
  return cases;
}

async function startServers(
  controller: ServedController,
  { name, path, reply }: { readonly name: string; readonly path: string; readonly reply: Reply },
): Promise<ReadCase['servers']> {
  const start = (kind: FloorKind): Promise<FloorServer> =>
    startFloor(controller.site, { name: `${kind}-${name}`, kind }, answerOf(reply));
  const servers = new Map([[BARE, await start('node')]]);
  if (path === COMPARED) servers.set(EXPRESS, await start('express'));
  return servers.set(TREELINE, { port: await controller.apiPort(), process: controller.process });
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

/** Returns the rates of the servers of a case, measured one after another. */
async function measureCase(
  { path, headers, status, servers }: ReadCase,
  { site }: ServedController,
  seconds: number,
): Promise<ReadonlyMap<string, Rate>> {
  const times = { connections: CONNECTIONS, warmUpMs: WARM_UP_MS, ms: seconds * 1000 };
  const rates = new Map<string, Rate>();
  for (const [name, { port, process }] of servers) {
    const before = process.usage().cpuSeconds;
    const result = await measureLoad({ path, headers, ...times, ...identityFiles(site), port }, status);
    const cpuMicroseconds = ((process.usage().cpuSeconds - before) * 1e6) / result.all;
    rates.set(name, { perSecond: result.answers / result.seconds, cpuMicroseconds });
  }
  return rates;
}
