// The benchmark `reads`: how near a read over mutual TLS comes to a bare Node HTTPS server that sends the same bytes, in turns
// with it. docs/benchmarks.md says how to read it.
import { repositoryFiles } from '../test/support/sized-repository.ts';
import type { BenchContext, BenchPart, PartReport } from './bench-part.ts';
import { median, type PartRow, rowOf } from './bench-row.ts';
import { measureCase, type Rate, type ReadCase, startCases, stopCases, TREELINE } from './read-cases.ts';
import { serveNewSite } from './served-controller.ts';
import { instancesFor, SERVERS_AN_INSTANCE } from './site.ts';

/** The part `reads` of the table. */
export const READS: BenchPart = {
  name: 'reads',
  summary: 'small reads over mutual TLS, beside a bare Node HTTPS server that sends the same bytes',
  run: benchReads,
};

/** The rates of one case by server, of each round. */
interface MeasuredCase {
  readonly measured: ReadCase;
  readonly rounds: ReadonlyMap<string, Rate>[];
}

async function benchReads({ folder, isQuick, say }: BenchContext): Promise<PartReport> {
  const [rounds, servers, seconds] = isQuick ? [1, 100, 1] : [3, 1_000, 3];
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
  return { rows: all.flatMap(tableRowsOf), failures: [] };
}

function titleOf({ path, status }: ReadCase): string {
  return status === 304 ? `GET ${path}, unchanged (304)` : `GET ${path}`;
}

/** Returns a row for each peer of a case. */
function tableRowsOf({ measured, rounds }: MeasuredCase): readonly PartRow[] {
  const { ratioMin, servers } = measured;
  const rate = (name: string): number => medianOf(rounds, name, ({ perSecond }) => perSecond);
  const peers = [...servers.keys()].filter((name) => name !== TREELINE);
  return peers.map((name) =>
    rowOf({
      ...{ work: titleOf(measured), value: rate(TREELINE), unit: '/s', target: { ratioMin } },
      peer: { name, value: rate(name), ratio: ratioOf(rounds, TREELINE, name) },
      note: `by processor time the ratio is ${cpuRatio(rounds, name).toFixed(2)}`,
    }),
  );
}

/** How much less processor time than a peer Treeline takes: steady also when the machine is busy. */
function cpuRatio(rounds: MeasuredCase['rounds'], peer: string): number {
  const cpu = (of: string): number => medianOf(rounds, of, ({ cpuMicroseconds }) => cpuMicroseconds);
  return cpu(peer) / cpu(TREELINE);
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
