// The benchmark `records`: how many records are computed a second, beside Ruby Hiera 3 on the same layers. docs/benchmarks.md
// says how to read it.
import { join } from 'node:path';
import type { BenchContext, BenchPart, PartReport } from './bench-part.ts';
import { median, type PartRow, rowOf } from './bench-row.ts';
import { printedResult } from './printed-result.ts';
import { KEYS, LAYERS } from './records-files.ts';
import type { RecordsResult } from './records-run.ts';
import { measureRubyHiera, type RubyResult, rubyHieraVersion } from './ruby-hiera.ts';

const RUN = join(import.meta.dirname, 'records-run.ts');
const RUN_MS_MAX = 10 * 60_000;
/** At least so many in each process, so that most are computed by compiled code. */
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
  const rates = ratesOf(measured, servers);
  return {
    rows: [tableRow(rates, version)],
    failures: isSame ? [] : ['the records of both are not the same'],
  };
}

/** Records for each second of processor time; NaN where Ruby was not measured. */
interface Rates {
  readonly computed: number;
  readonly ruby: number;
  /** The median of the rounds' ratios. */
  readonly ratio: number;
}

function ratesOf(rounds: readonly Round[], servers: number): Rates {
  const rate = (cpuSeconds: (round: Round) => number): number => servers / median(rounds.map(cpuSeconds));
  const rubySeconds = ({ ruby }: Round): number => ruby?.cpuSeconds ?? Number.NaN;
  return {
    computed: rate(({ treeline }) => cpuOf(treeline)),
    ruby: rate(rubySeconds),
    ratio: median(rounds.map((round) => rubySeconds(round) / cpuOf(round.treeline))),
  };
}

function tableRow({ computed, ruby, ratio }: Rates, version: string | undefined): PartRow {
  const absence = 'there is no Ruby with hiera on this machine';
  const peer = version === undefined ? { name: PEER, absence } : { name: `${PEER} (${version})`, value: ruby, ratio };
  return rowOf({
    work: `records of ${KEYS.length} keys from ${LAYERS.length} layers, by processor time`,
    ...{ value: computed, unit: '/s', peer, target: { ratioMin: RATIO_MIN } },
  });
}

function cpuOf({ cpuSeconds }: RecordsResult): number {
  return median(cpuSeconds);
}
