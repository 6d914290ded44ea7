// Renders the measurements of all parts as one table.
import type { PartReport } from './bench-part.ts';
import { type BenchRow, numberText } from './bench-row.ts';
import { type Machine, machineText } from './machine.ts';

export interface MeasuredPart extends PartReport {
  readonly part: string;
}

export interface BenchReport {
  readonly machine: Machine;
  readonly isQuick: boolean;
  readonly parts: readonly MeasuredPart[];
}

/** Returns the rows of all parts, in their order. */
export function rowsOf({ parts }: BenchReport): readonly BenchRow[] {
  return parts.flatMap(({ part, rows }) => rows.map((row) => ({ part, ...row })));
}

/** Returns the machine and the one table, in Markdown. */
export function tableText(report: BenchReport): string {
  const head = ['part', 'work', 'value', 'peer in the same run', 'its value', 'ratio', 'target', 'verdict'];
  const rows = rowsOf(report).map(cellsOf);
  const failures = report.parts.flatMap(({ part, failures }) => failures.map((each) => `- **${part}: ${each}**`));
  const count = (wanted: BenchRow['verdict']): number =>
    rowsOf(report).filter(({ verdict }) => verdict === wanted).length;
  return [
    machineText(report.machine),
    ...(report.isQuick ? ['**Small sizes (`--quick`)**: targets are for the usual ones.'] : []),
    plainTable(head, rows),
    `${count('reached')} reached, ${count('missed')} missed, ${count('measured')} without a target, ${count('not measured')} not measured. A ratio above 1 is better than the peer.`,
    ...(failures.length === 0 ? [] : [failures.join('\n')]),
  ].join('\n\n');
}

/** Returns true where a target is missed or something is as it must not be. Small sizes have no targets. */
export function isMissed(report: BenchReport): boolean {
  const isTargetMissed = !report.isQuick && rowsOf(report).some(({ verdict }) => verdict === 'missed');
  return isTargetMissed || report.parts.some(({ failures }) => failures.length > 0);
}

function cellsOf(row: BenchRow): string[] {
  const { part, work, value, unit, peer, peerValue, peerAbsence, ratio, target, verdict, note } = row;
  const said = verdict === 'missed' ? 'MISSED' : verdict;
  return [
    ...[part, work, withUnit(value, unit)],
    ...[peer ?? '–', peerText(peerValue, peerAbsence, unit), numberText(ratio)],
    ...[target, note === undefined ? said : `${said}: ${note}`],
  ];
}

function peerText(value: number | undefined, absence: string | undefined, unit: string): string {
  return absence === undefined ? withUnit(value, unit) : `not measured: ${absence}`;
}

function withUnit(value: number | undefined, unit: string): string {
  return value === undefined ? '–' : `${numberText(value)} ${unit}`.trim();
}

function plainTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lineOf = (row: readonly string[]): string =>
    `| ${row.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [lineOf(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(lineOf)].join('\n');
}
