// Renders the results of the benchmark `line` as Markdown: of several runs the median of what a busy machine disturbs, and the
// worst of what has a limit.
import type { LineRun } from './line-run.ts';
import { markdownTable, median } from './markdown-table.ts';
import type { TerraformRun, TerraformRuns } from './terraform.ts';

const MIB = 2 ** 20;
/** The limit of memory, and the desired state that it is for. */
const PEAK_MIB_MAX = 512;
const PEAK_SERVERS = 10_000;
const NOT_MEASURED = '–';

/** Everything that was measured at one size. */
export interface Measured {
  readonly servers: number;
  /** At least one. */
  readonly runs: readonly LineRun[];
  /** As many with their store on PostgreSQL, or none. */
  readonly onPostgres: readonly LineRun[];
  /** Undefined where terraform was left out. */
  readonly terraform: TerraformRuns | undefined;
}

export interface ReportFacts {
  /** The version of terraform, or why it was left out. */
  readonly terraform: { readonly version: string } | { readonly absence: string };
  /** The version of PostgreSQL; undefined where it was left out. */
  readonly postgres: string | undefined;
  /** The most for one command of terraform. */
  readonly limitSeconds: number;
}

export interface Report {
  readonly text: string;
  /** The results that must not be, in words. */
  readonly failures: readonly string[];
}

interface Column {
  readonly title: string;
  /** Undefined where it was not measured. */
  readonly read: (measured: Measured) => number | undefined;
  readonly digits: number;
  /** Followed by the value per server, as a multiple of the first row's. */
  readonly hasRatio?: boolean;
}

const BUILD: readonly Column[] = [
  medianOf('all done, s', ({ build }) => build.seconds, { digits: 1, hasRatio: true }),
  medianOf('CPU, s', ({ build }) => build.cpuSeconds, { digits: 1, hasRatio: true }),
  medianOf('disk, MiB', ({ build }) => build.writtenBytes / MIB, { digits: 1, hasRatio: true }),
  worstOf('peak memory, MiB', ({ build }) => build.peakBytes / MIB),
];

const AFTERWARDS: readonly Column[] = [
  medianOf('restart, s', ({ restart }) => restart.seconds, { digits: 1, hasRatio: true }),
  worstOf('actions', ({ restart }) => restart.actions),
  worstOf('peak memory, MiB', ({ restart }) => restart.peakBytes / MIB),
  medianOf('one instance changed, s', ({ change }) => change.seconds, { digits: 2 }),
  worstOf('blobs read', ({ change }) => change.blobsRead),
];

const TERRAFORM: readonly Column[] = [
  { title: 'apply, s', read: ({ terraform }) => terraform?.apply.seconds, digits: 1, hasRatio: true },
  { title: 'CPU, s', read: ({ terraform }) => through(terraform)?.cpuSeconds, digits: 1, hasRatio: true },
  { title: 'peak memory, MiB', read: ({ terraform }) => mibOf(through(terraform)?.peakBytes), digits: 0 },
  { title: 'plan, s', read: ({ terraform }) => terraform?.plan?.seconds, digits: 1, hasRatio: true },
];

/** Returns the report on one size or more; the first is what the others are compared with. */
export function reportOf(measured: readonly Measured[], facts: ReportFacts): Report {
  const failures = measured.flatMap(failuresOf);
  const parts = [
    `Runs: ${measured[0]?.runs.length}. "Each" is the cost of one, relative to the first row.`,
    '#### From the start to all done',
    tableOf('servers', measured, BUILD),
    '#### Afterwards',
    tableOf('servers', measured, AFTERWARDS),
    ...onPostgres(measured, facts),
    ...besideOf(measured, facts),
    ...failures.map((failure) => `**${failure}**`),
  ];
  return { text: parts.join('\n\n'), failures };
}

function medianOf(title: string, read: (run: LineRun) => number, rest: Pick<Column, 'digits' | 'hasRatio'>): Column {
  return { title, read: ({ runs }) => median(runs.map(read)), ...rest };
}

function worstOf(title: string, read: (run: LineRun) => number): Column {
  return { title, read: ({ runs }) => Math.max(...runs.map(read)), digits: 0 };
}

/** An apply that was ended because it took too long says nothing about all of its resources. */
function through(terraform: TerraformRuns | undefined): TerraformRun | undefined {
  return terraform?.apply.seconds === undefined ? undefined : terraform.apply;
}

function mibOf(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / MIB;
}

function onPostgres(measured: readonly Measured[], { postgres }: ReportFacts): string[] {
  if (postgres === undefined) return [];
  const rows = measured.map((row) => ({ ...row, runs: row.onPostgres }));
  return [
    `#### With the store on PostgreSQL ${postgres}: to all done`,
    tableOf('servers', rows, BUILD),
    '#### With the store on PostgreSQL: afterwards',
    tableOf('servers', rows, AFTERWARDS),
  ];
}

function besideOf(all: readonly Measured[], { terraform, limitSeconds }: ReportFacts): string[] {
  if ('absence' in terraform) return [`Terraform was left out: ${terraform.absence}.`];
  const measured = all.filter((row) => row.terraform !== undefined);
  if (measured.length === 0) return ['Terraform was run at none of these sizes.'];
  const isShort = measured.some((row) => row.terraform?.plan?.seconds === undefined);
  return [
    `#### Terraform ${terraform.version}, as many resources`,
    tableOf('resources', measured, TERRAFORM),
    ...(isShort ? [`${NOT_MEASURED}: not through after ${limitSeconds} s.`] : []),
  ];
}

function tableOf(counted: string, measured: readonly Measured[], columns: readonly Column[]): string {
  const head = [counted, ...columns.flatMap(({ title, hasRatio }) => (hasRatio ? [title, 'each'] : [title]))];
  const rows = measured.map((row) => [
    row.servers.toLocaleString('en'),
    ...columns.flatMap((column) => cellsOf(column, row, measured[0] ?? row)),
  ]);
  return markdownTable(head, rows);
}

function cellsOf({ read, digits, hasRatio }: Column, row: Measured, first: Measured): string[] {
  const value = read(row);
  const cell = value === undefined ? NOT_MEASURED : value.toFixed(digits);
  if (!hasRatio) return [cell];
  const each = (value ?? Number.NaN) / row.servers;
  const ratio = each / ((read(first) ?? Number.NaN) / first.servers);
  return [cell, Number.isFinite(ratio) ? `× ${ratio.toFixed(2)}` : NOT_MEASURED];
}

function failuresOf({ servers, runs: embedded, onPostgres }: Measured): string[] {
  const runs = [...embedded, ...onPostgres];
  const actions = Math.max(...runs.map(({ restart }) => restart.actions));
  const peakMib = Math.max(...runs.flatMap(({ build, restart }) => [build.peakBytes, restart.peakBytes])) / MIB;
  const failures: string[] = [];
  if (actions > 0) failures.push(`${servers} servers: a restart without a change acted ${actions} times`);
  if (servers <= PEAK_SERVERS && peakMib > PEAK_MIB_MAX) {
    failures.push(`${servers} servers: ${Math.round(peakMib)} MiB of memory, and at most ${PEAK_MIB_MAX} are allowed`);
  }
  return failures;
}
