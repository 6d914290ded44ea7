// The requests of the benchmark `reads`, and the servers that answer each: Treeline, the bare one, and other peers.
import type { Reply } from '../test/support/https-client.ts';
import { type FloorKind, type FloorServer, identityFiles, measureLoad, startFloor } from './load.ts';
import type { ServedController } from './served-controller.ts';

/** Of the bare server's rate. */
const RATIO_MIN = 0.4;
const CONNECTIONS = 32;
const WARM_UP_MS = 1_000;

const PATHS = ['/hiera/instance-0-web-1', '/hiera/instance-0-web-1/port', '/stacks/instances/instance-0'];
/** The request that peers other than the bare server answer too. */
const COMPARED = PATHS[0];

export const TREELINE = 'Treeline';
const BARE = 'bare Node HTTPS';
const EXPRESS = 'Express';

/** One request, and the least share of the bare server's rate at which it is to be answered. */
export interface ReadCase {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly status: number;
  readonly ratioMin: number;
  /** By name, in the order in which they are asked. */
  readonly servers: ReadonlyMap<string, FloorServer>;
}

/** The answers of a server in one round. */
export interface Rate {
  readonly perSecond: number;
  /** Processor time of one answer, microseconds; says more than the rate where the machine is busy. */
  readonly cpuMicroseconds: number;
}

/** Returns the cases; their servers run. The peers send, byte for byte, what the controller sends now, but for the date and the request's id. */
export async function startCases(controller: ServedController): Promise<readonly ReadCase[]> {
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
      cases.push({ path, headers: sent, status: reply.status, ratioMin: RATIO_MIN, ...servers });
    }
  }
  return cases;
}

interface ServersOf {
  /** Of their files. */
  readonly name: string;
  readonly path: string;
  readonly reply: Reply;
}

async function startServers(
  controller: ServedController,
  { name, path, reply }: ServersOf,
): Promise<Pick<ReadCase, 'servers'>> {
  const answer = answerOf(reply);
  const start = (kind: FloorKind): Promise<FloorServer> =>
    startFloor(controller.site, { name: `${kind}-${name}`, kind }, answer);
  const servers = new Map([[BARE, await start('node')]]);
  if (path === COMPARED) servers.set(EXPRESS, await start('express'));
  servers.set(TREELINE, { port: await controller.apiPort(), process: controller.process });
  return { servers };
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

/** Returns what each server of a case answers in so many seconds, one after the other. */
export async function measureCase(
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

/** Ends the servers of all cases but the controller. */
export async function stopCases(cases: readonly ReadCase[]): Promise<void> {
  const peers = cases.flatMap(({ servers }) => [...servers].filter(([name]) => name !== TREELINE));
  await Promise.all(peers.map(([, server]) => server.process.stop()));
}
