// Renders the measurements of all parts as one table, below the facts about the machine.
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os';
import { numberText, type PartReport, type PartRow } from './bench-row.ts';

export interface MeasuredPart extends PartReport {
  readonly part: string;
}

export interface BenchReport {
  /** The load of one minute before the first part. */
  readonly loadAtStart: number;
  readonly isQuick: boolean;
  readonly parts: readonly MeasuredPart[];
}

/** Returns the machine and the table, in Markdown. */
export function tableText(report: BenchReport): string {
  const head = ['part', 'work', 'value', 'peer in the same run', 'its value', 'ratio', 'target', 'verdict'];
  const rows = report.parts.flatMap(({ part, rows }) => rows.map((row) => cellsOf(part, row)));
  const failures = report.parts.flatMap(({ part, failures }) => failures.map((each) => `- **${part}: ${each}**`));
  const verdicts = report.parts.flatMap((part) => part.rows.map(({ verdict }) => verdict));
  const count = (wanted: PartRow['verdict']): number => verdicts.filter((verdict) => verdict === wanted).length;
  return [
    machineText(report.loadAtStart),
    ...(report.isQuick ? ['**Small sizes (`--quick`)**: targets are for the usual ones.'] : []),
    plainTable(head, rows),
    `${count('reached')} reached, ${count('missed')} missed, ${count('measured')} without a target, ${count('not measured')} not measured. A ratio above 1 is better than the peer.`,
    ...(failures.length === 0 ? [] : [failures.join('\n')]),
  ].join('\n\n');
}

/** Returns true if a target is missed or a result is wrong. Small sizes have no targets. */
export function hasMissedTarget(report: BenchReport): boolean {
  const isMissedIn = ({ rows }: PartReport): boolean => rows.some(({ verdict }) => verdict === 'missed');
  return report.parts.some((part) => part.failures.length > 0 || (!report.isQuick && isMissedIn(part)));
}

/** Returns the machine in two sentences. */
function machineText(loadAtStart: number): string {
  const [date, [loadAtEnd = Number.NaN]] = [new Date().toISOString().slice(0, 10), loadavg()];
  const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${date}: ${machine}, Linux ${release().split('-', 1)[0]}, Node ${process.versions.node}. Load ${loadAtStart.toFixed(1)} at the start, ${loadAtEnd.toFixed(1)} at the end.`;
}

function cellsOf(part: string, { work, value, unit, peer, ratio, target, verdict, note }: PartRow): string[] {
  const said = verdict === 'missed' ? 'MISSED' : verdict;
  const peerValue =
    peer !== undefined && 'absence' in peer ? `not measured: ${peer.absence}` : withUnit(peer?.value, unit);
  return [
    ...[part, work, withUnit(value, unit)],
    ...[peer?.name ?? '–', peerValue, numberText(ratio)],
    ...[target, note === undefined ? said : `${said}: ${note}`],
  ];
}

function withUnit(value: number | undefined, unit: string): string {
  return value === undefined ? '–' : `${numberText(value)} ${unit}`.trim();
}

function plainTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lineOf = (row: readonly string[]): string =>
    `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [lineOf(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(lineOf)].join('\n');
}
