// The benchmark `records`: computed records per second, compared with Ruby Hiera 3 on the same layers.
// docs/benchmarks.md explains the results.
import { join } from 'node:path';
import { type BenchContext, type BenchPart, median, type PartReport, type PartRow, rowOf } from './bench-row.ts';
import { printedResult } from './printed-result.ts';
import { KEYS, LAYERS } from './records-files.ts';
import type { RecordsResult } from './records-run.ts';
import { measureRubyHiera, type RubyResult, rubyHieraVersion } from './ruby-hiera.ts';

const RUN = join(import.meta.dirname, 'records-run.ts');
const RUN_MS_MAX = 10 * 60_000;
/** The minimum number in each process, so that compiled code computes most of them. */
const RECORDS_MIN = 30_000;
const RATIO_MIN = 100;
const PEER = 'Ruby Hiera 3';

/** The part `records` of the table. It fails if the two compute different values. */
export const RECORDS: BenchPart = {
  name: 'records',
  summary: 'records of twenty keys from seven layers, beside Ruby Hiera 3',
  run: benchRecords,
};

interface Round {
  readonly treeline: RecordsResult;
  readonly ruby: RubyResult | undefined;
}

async function benchRecords(context: BenchContext): Promise<PartReport> {
  const [servers, rounds] = context.isQuick ? [500, 1] : [10_000, 3];
  const version = rubyHieraVersion();
  const measured: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const args = [RUN, `${servers}`, `${Math.ceil(RECORDS_MIN / servers)}`];
    const treeline = await printedResult<RecordsResult>(context.folder, { args, msMax: RUN_MS_MAX });
    const ruby = version === undefined ? undefined : await measureRubyHiera(context.folder, servers);
    measured.push({ treeline, ruby });
    context.say(`round ${round} of ${rounds}`);
  }
  const isSame = measured.every(({ treeline, ruby }) => ruby === undefined || ruby.digest === treeline.digest);
  return {
    rows: [tableRow(measured, servers, version)],
    failures: isSame ? [] : ['the records of both are not the same'],
  };
}

function tableRow(rounds: readonly Round[], servers: number, version: string | undefined): PartRow {
  const own = rounds.map(({ treeline }) => median(treeline.cpuSeconds));
  const theirs = rounds.map(({ ruby }) => ruby?.cpuSeconds ?? Number.NaN);
  // The median of the rounds' ratios, so that a busy minute affects both.
  const ratio = median(theirs.map((seconds, round) => seconds / (own[round] ?? Number.NaN)));
  const absence = 'there is no Ruby with hiera on this machine';
  const there = { name: `${PEER} (${version})`, value: servers / median(theirs), ratio };
  return rowOf({
    work: `records of ${KEYS.length} keys from ${LAYERS.length} layers, by processor time`,
    value: servers / median(own),
    unit: '/s',
    target: { ratioMin: RATIO_MIN },
    peer: version === undefined ? { name: PEER, absence } : there,
  });
}
