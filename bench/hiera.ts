// The benchmark `hiera`: the records of all nodes in one answer, whether or not something changed, and what others notice of
// it. docs/benchmarks.md says how to read it.
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { rowOf } from './bench-row.ts';
import { instancesFor, SERVERS_AN_INSTANCE } from './installation-size.ts';
import { identityFiles } from './load.ts';
import { markdownTable, median } from './markdown-table.ts';
import { type ServedController, serveNewSite } from './served-controller.ts';
import type { Site } from './site.ts';

const SERVERS_MAX = 100_000;
const ROUNDS_MAX = 50;
const ALL = '/hiera/all';
const ONE = '/hiera/instance-0-web-1';
/** Between two small reads. */
const SMALL_MS = 20;
const FIRST_BYTE_MS_MAX = 20;
const STALL_MS_MAX = 50;
const FOLLOW_MS_MAX = 120_000;

/** One answer, in milliseconds since it was asked for. */
interface Timed {
  readonly firstByte: number;
  readonly end: number;
  readonly bytes: number;
}

/** Sends one request on a kept connection. */
type Ask = (path: string) => Promise<Timed>;

/** An answer with all records, and the slowest of the small reads beside it. */
interface Round extends Timed {
  readonly worstSmall: number;
}

interface HieraOptions {
  readonly rounds: number;
  readonly servers: number;
}

/** Returns the part `hiera` of the table. */
export const HIERA = definePart({
  name: 'hiera',
  summary: 'the records of all nodes in one answer, and what small reads notice of it',
  options: {
    rounds: { kind: 'number', default: 5, quick: 1, max: ROUNDS_MAX, help: 'rounds; medians count' },
    servers: { kind: 'number', default: 10_000, quick: 1_000, max: SERVERS_MAX, help: 'servers of the installation' },
  },
  run: benchHiera,
});

async function benchHiera({ rounds, servers }: HieraOptions, { folder, say }: BenchContext): Promise<PartReport> {
  const instances = instancesFor(servers);
  const files = repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE });
  const controller = await serveNewSite(folder, 'hiera', files);
  const [all, small] = [await asker(controller), await asker(controller)];
  const first = await measureRound(all, small);
  const unchanged: Round[] = [];
  for (let round = 0; round < rounds; round += 1) unchanged.push(await measureRound(all, small));
  const changed: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await changeEverything(controller, round);
    changed.push(await measureRound(all, small));
    say(`round ${round + 1} of ${rounds}`);
  }
  await controller.stop();
  const cells = [
    cellsOf('the first time', [first]),
    cellsOf('nothing changed', unchanged),
    cellsOf('every record changed', changed),
  ];
  const head = ['records of all nodes', 'MB', 'first byte, ms', 'whole, ms', 'worst small read, ms'];
  const work = `GET ${ALL}, ${servers.toLocaleString('en')} servers`;
  const firstByte = rowOf({
    ...{ work: `${work}: first byte where nothing changed`, unit: 'ms', target: { atMost: FIRST_BYTE_MS_MAX } },
    value: median(unchanged.map((round) => round.firstByte)),
  });
  const worstSmall = rowOf({
    ...{ work: `${work}: worst small read where every record changed`, unit: 'ms', target: { atMost: STALL_MS_MAX } },
    value: median(changed.map(({ worstSmall }) => worstSmall)),
  });
  const text = `Rounds: ${rounds}. Servers: ${servers}. Medians.\n\n${markdownTable(head, cells)}`;
  return { rows: [firstByte, worstSmall], text, failures: [] };
}

function cellsOf(title: string, rounds: readonly Round[]): string[] {
  const middle = (read: (round: Round) => number): string => median(rounds.map(read)).toFixed(0);
  const megabytes = (median(rounds.map(({ bytes }) => bytes)) / 1e6).toFixed(1);
  return [
    title,
    megabytes,
    middle((round) => round.firstByte),
    middle(({ end }) => end),
    middle((round) => round.worstSmall),
  ];
}

/** Asks for all records, and every 20 ms for one. */
async function measureRound(all: Ask, small: Ask): Promise<Round> {
  let isOver = false;
  let worstSmall = 0;
  const beside = (async () => {
    while (!isOver) {
      worstSmall = Math.max(worstSmall, (await small(ONE)).end);
      await sleep(SMALL_MS);
    }
  })();
  await sleep(5 * SMALL_MS);
  const answer = await all(ALL);
  isOver = true;
  await beside;
  return { ...answer, worstSmall };
}

/** Changes a value that every node has, and resolves once that is followed and nothing moves any more. */
async function changeEverything(controller: ServedController, round: number): Promise<void> {
  const followed = controller.log.lines('commit followed').length;
  const text = `ntp_servers: [ntp1.example, ntp2.example]\nlog_level: level-${round}\nbackups: true\n`;
  await controller.site.repository.commit({ 'types/common/global.yaml': text });
  const isFollowed = (): unknown => controller.log.lines('commit followed')[followed];
  await controller.process.until('the change was followed', FOLLOW_MS_MAX, isFollowed);
  await controller.quiet();
}

async function asker(controller: ServedController): Promise<Ask> {
  const port = await controller.apiPort();
  const pem = pemOf(controller.site);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (path) => {
    const { promise, resolve, reject } = Promise.withResolvers<Timed>();
    const start = performance.now();
    const outgoing = request({ host: '127.0.0.1', port, path, agent, ...pem }, (incoming) => {
      let firstByte = 0;
      let bytes = 0;
      incoming.on('data', (chunk: Buffer) => {
        if (bytes === 0) firstByte = performance.now() - start;
        bytes += chunk.length;
      });
      incoming.on('end', () => resolve({ firstByte, end: performance.now() - start, bytes }));
      incoming.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end();
    return promise;
  };
}

function pemOf(site: Site): { readonly ca: Buffer; readonly key: Buffer; readonly cert: Buffer } {
  const { ca, key, cert } = identityFiles(site);
  return { ca: readFileSync(ca), key: readFileSync(key), cert: readFileSync(cert) };
}
