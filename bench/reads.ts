// The benchmark `reads`: how near a read over mutual TLS comes to a bare Node HTTPS server that sends the same bytes, in turns
// with it. docs/benchmarks.md says how to read it.
import { repositoryFiles } from '../test/support/sized-repository.ts';
import { type BenchContext, definePart, type PartReport } from './bench-part.ts';
import { type PartRow, type Peer, rowOf } from './bench-row.ts';
import { instancesFor, SERVERS_AN_INSTANCE } from './installation-size.ts';
import { markdownTable, median } from './markdown-table.ts';
import { BARE, measureCase, type Rate, type ReadCase, startCases, stopCases, TREELINE } from './read-cases.ts';
import { serveNewSite } from './served-controller.ts';

const SERVERS_MAX = 100_000;
const ROUNDS_MAX = 50;
const SECONDS_MAX = 60;

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
    seconds: { kind: 'number', default: 3, quick: 1, max: SECONDS_MAX, help: 'seconds of each server in a round' },
  },
  run: benchReads,
});

/** The rates of one case by server, of each round. */
interface MeasuredCase {
  readonly measured: ReadCase;
  readonly rounds: ReadonlyMap<string, Rate>[];
}

async function benchReads(options: ReadsOptions, { folder, say }: BenchContext): Promise<PartReport> {
  const { rounds, servers, seconds } = options;
  const instances = instancesFor(servers);
  const files = repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE });
  const controller = await serveNewSite(folder, 'reads', files);
  const cases = await startCases(controller);
  const all: MeasuredCase[] = cases.map((measured) => ({ measured, rounds: [] }));
  for (let round = 1; round <= rounds; round += 1) {
    for (const each of all) each.rounds.push(await measureCase(each.measured, controller, seconds));
    say(`round ${round} of ${rounds}`);
  }
  await stopCases(cases);
  await controller.stop();
  const head = ['read', 'server', 'a second', 'of the bare server', 'CPU, µs', 'the same by CPU'];
  const table = markdownTable(head, all.flatMap(cellsOf));
  return {
    rows: all.map(tableRowOf),
    text: `Rounds: ${rounds}. Servers: ${servers}. Medians.\n\n${table}`,
    failures: [],
  };
}

function titleOf({ path, status }: ReadCase): string {
  return status === 304 ? `GET ${path}, unchanged (304)` : `GET ${path}`;
}

function tableRowOf({ measured, rounds }: MeasuredCase): PartRow {
  const { ratioMin, servers } = measured;
  const rate = (name: string): number => medianOf(rounds, name, ({ perSecond }) => perSecond);
  const peerOf = (name: string): Peer => {
    return { name, value: rate(name), ratio: ratioOf(rounds, TREELINE, name) };
  };
  const others = [...servers.keys()].filter((name) => name !== BARE && name !== TREELINE);
  return rowOf({
    ...{ work: titleOf(measured), value: rate(TREELINE), unit: '/s', target: { ratioMin }, peer: peerOf(BARE) },
    note: `by processor time the ratio is ${cpuRatio(rounds, TREELINE).toFixed(2)}`,
    ...(others.length === 0 ? {} : { others: others.map(peerOf) }),
  });
}

function cellsOf({ measured, rounds }: MeasuredCase): string[][] {
  const cpu = (name: string): number => medianOf(rounds, name, ({ cpuMicroseconds }) => cpuMicroseconds);
  return [...measured.servers.keys()].map((name) => [
    ...[titleOf(measured), name, medianOf(rounds, name, ({ perSecond }) => perSecond).toFixed(0)],
    ...[ratioOf(rounds, name, BARE).toFixed(2), cpu(name).toFixed(0), cpuRatio(rounds, name).toFixed(2)],
  ]);
}

/** How much less processor time than the bare server a server takes: steady also where the machine is busy. */
function cpuRatio(rounds: MeasuredCase['rounds'], name: string): number {
  const cpu = (of: string): number => medianOf(rounds, of, ({ cpuMicroseconds }) => cpuMicroseconds);
  return cpu(BARE) / cpu(name);
}

/** Of the rounds' ratios, so that a busy minute meets both. */
function ratioOf(rounds: MeasuredCase['rounds'], name: string, peer: string): number {
  return median(rounds.map((round) => (round.get(name)?.perSecond ?? 0) / (round.get(peer)?.perSecond ?? 0)));
}

function medianOf(rounds: MeasuredCase['rounds'], name: string, read: (rate: Rate) => number): number {
  return median(
    rounds.flatMap((round) => [...round].filter(([server]) => server === name).map(([, rate]) => read(rate))),
  );
}
