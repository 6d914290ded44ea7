// The rows of the benchmark `line` in the table: its sizes and steps.
import { type PartRow, rowOf, type Target } from './bench-row.ts';
import type { StandbyReads } from './line-on-postgres.ts';
import type { LineRun } from './line-run.ts';
import type { TerraformRuns } from './terraform.ts';

const MIB = 2 ** 20;
/**
 * The largest measured installation of one leader. Treeline is designed for 10,000 servers, so nothing is promised
 * here.
 */
const SERVERS_MAX = 100_000;
const MEASURED: Target = {};

/** The limit of memory. */
const PEAK_MIB_MAX = 512;
const PEAK_SERVERS = 10_000;

/** All measurements at one size. */
export interface Measured {
  readonly servers: number;
  readonly run: LineRun;
  readonly onPostgres: LineRun | undefined;
  /** Undefined if terraform did not run. */
  readonly terraform: TerraformRuns | undefined;
}

interface Row {
  readonly step: string;
  readonly unit: string;
  readonly read: (run: LineRun) => number;
  /** By the number of servers; without `ratioMin` if there is no peer. */
  readonly targets: Readonly<Record<number, Target>>;
  /** The compared command of terraform. */
  readonly beside?: 'apply' | 'plan';
}

const ROWS: readonly Row[] = [
  {
    step: 'start to all `done`',
    unit: 's',
    read: ({ build }) => build.seconds,
    beside: 'apply',
    targets: {
      1000: { ratioMin: 20, atMost: 0.75 },
      5000: { ratioMin: 200, atMost: 1.5 },
      10000: { atMost: 2.8 },
    },
  },
  {
    step: 'start to all `done`, peak memory',
    unit: 'MiB',
    read: ({ build }) => build.peakBytes / MIB,
    targets: { 100000: MEASURED },
  },
  {
    step: 'restart without a change',
    unit: 's',
    read: ({ restart }) => restart.seconds,
    beside: 'plan',
    targets: { 5000: { atMost: 0.6 }, 100000: MEASURED },
  },
  {
    step: 'restart, peak memory',
    unit: 'MiB',
    read: ({ restart }) => restart.peakBytes / MIB,
    targets: { 10000: { atMost: 256 } },
  },
  {
    step: 'one instance changed, to its ten servers',
    unit: 's',
    read: ({ change }) => change.seconds,
    targets: { 10000: { atMost: 0.1 }, 100000: MEASURED },
  },
];
/** The sizes at which the cost of a server is compared. */
const LINEAR = { from: 10_000, to: SERVERS_MAX };

/** Returns a row for each size of a step that was measured. */
export function lineRows(measured: readonly Measured[]): readonly PartRow[] {
  const rows = ROWS.flatMap((row) =>
    measured.flatMap((each) => {
      const target = row.targets[each.servers];
      return target === undefined ? [] : [rowAt(row, each, target)];
    }),
  );
  return [...rows, ...linearRow(measured), ...measured.flatMap(postgresRows)];
}

/** Returns the comparison of PostgreSQL with the embedded store at one size. */
function postgresRows({ servers, run, onPostgres }: Measured): readonly PartRow[] {
  if (onPostgres === undefined) return [];
  const size = `${servers.toLocaleString('en')} servers`;
  const peak = Math.max(onPostgres.build.peakBytes, onPostgres.restart.peakBytes) / MIB;
  const peer = { name: 'embedded store', value: run.build.seconds };
  const built = {
    work: `start to all \`done\` on PostgreSQL, ${size}`,
    value: onPostgres.build.seconds,
    unit: 's',
    peer,
  };
  const memory = { work: `a replica on PostgreSQL, peak memory, ${size}`, value: peak, unit: 'MiB' };
  return [
    ...(servers === 10_000 ? [rowOf({ ...built, target: { ratioMin: 0.5 } })] : []),
    ...(servers === SERVERS_MAX ? [rowOf({ ...memory, target: MEASURED })] : []),
  ];
}

/** Returns the rows of small reads of a standby while the leader created all servers. */
export function standbyRows({ servers, p99, worst }: StandbyReads): readonly PartRow[] {
  const work = `small read of a standby, ${servers.toLocaleString('en')} servers, while the leader makes all of them`;
  return [
    rowOf({ work: `${work}: p99`, value: p99, unit: 'ms', target: { atMost: 25 } }),
    rowOf({ work: `${work}: worst`, value: worst, unit: 'ms', target: { atMost: 50 } }),
  ];
}

function rowAt({ step, unit, read, beside }: Row, { servers, run, terraform }: Measured, target: Target): PartRow {
  const work = `${step}, ${servers.toLocaleString('en')} servers`;
  const measured = { work, value: read(run), unit, target };
  if (beside === undefined) return rowOf(measured);
  const name = `terraform ${beside}`;
  const absence = 'there is no terraform on this machine, or it was not run at this size';
  return rowOf({ ...measured, peer: terraform === undefined ? { name, absence } : { name, value: terraform[beside] } });
}

function linearRow(measured: readonly Measured[]): readonly PartRow[] {
  const perServer = (servers: number): number => {
    const run = measured.find((each) => each.servers === servers)?.run;
    return (run?.build.cpuSeconds ?? Number.NaN) / servers;
  };
  const times = perServer(LINEAR.to) / perServer(LINEAR.from);
  if (Number.isNaN(times)) return [];
  const [from, to] = [LINEAR.from, LINEAR.to].map((servers) => servers.toLocaleString('en'));
  const work = `start to all \`done\`: CPU a server of ${to}, relative to ${from}`;
  return [rowOf({ work, value: times, unit: 'times', target: MEASURED })];
}

/** Returns the wrong results: a restart that acts on a server, or too much memory. */
export function failuresOf({ servers, run, onPostgres }: Measured): readonly string[] {
  const runs = [run, ...(onPostgres === undefined ? [] : [onPostgres])];
  const actions = Math.max(...runs.map(({ restart }) => restart.actions));
  const peakMib = Math.max(...runs.flatMap(({ build, restart }) => [build.peakBytes, restart.peakBytes])) / MIB;
  const failures: string[] = [];
  if (actions > 0) failures.push(`${servers} servers: a restart without a change acted ${actions} times`);
  if (servers <= PEAK_SERVERS && peakMib > PEAK_MIB_MAX) {
    failures.push(`${servers} servers: ${Math.round(peakMib)} MiB of memory, and at most ${PEAK_MIB_MAX} are allowed`);
  }
  return failures;
}
