// Renders what all parts measured: the one table, the details of each part, JSON, and both in a document between markers.
import { isMap } from '../src/model/json.ts';
import type { PartReport } from './bench-part.ts';
import { type BenchRow, numberText } from './bench-row.ts';
import { type Machine, machineText } from './machine.ts';
import { plainTable } from './markdown-table.ts';

export interface MeasuredPart extends PartReport {
  readonly part: string;
}

export interface BenchReport {
  readonly machine: Machine;
  readonly isQuick: boolean;
  /** All parts of the table were asked for. */
  readonly isWhole: boolean;
  readonly parts: readonly MeasuredPart[];
  /** The rows of an earlier report, to be shown beside these. */
  readonly before?: readonly BenchRow[] | undefined;
}

/** Returns the rows of all parts, in their order. */
export function rowsOf({ parts }: BenchReport): readonly BenchRow[] {
  return parts.flatMap(({ part, rows }) => rows.map((row) => ({ part, ...row })));
}

/** Returns the machine and the one table, in Markdown. */
export function tableText(report: BenchReport): string {
  const { before } = report;
  const earlier = before === undefined ? [] : ['before'];
  const head = ['part', 'work', ...earlier, 'value', 'peer in the same run', 'its value', 'ratio', 'target', 'verdict'];
  const rows = rowsOf(report).map((row) => cellsOf(row, before));
  const failures = report.parts.flatMap(({ part, failures }) => failures.map((each) => `- **${part}: ${each}**`));
  const missed = rowsOf(report).filter(({ verdict }) => verdict === 'missed').length;
  const absent = rowsOf(report).filter(({ verdict }) => verdict === 'not measured').length;
  return [
    machineText(report.machine),
    ...(report.isQuick ? ['**Small sizes (`--quick`)**: targets are for the usual ones.'] : []),
    plainTable(head, rows),
    `${rows.length - missed - absent} reached, ${missed} missed, ${absent} not measured. A ratio above 1 is better than the peer.`,
    ...(failures.length === 0 ? [] : [failures.join('\n')]),
  ].join('\n\n');
}

/** Returns the table with the details of each part below it. */
export function detailedText(report: BenchReport): string {
  return [tableText(report), ...report.parts.map(({ part, text }) => `### ${part}\n\n${text}`)].join('\n\n');
}

/** Returns everything as one JSON document. */
export function jsonText(report: BenchReport): string {
  const { machine, isQuick, isWhole, parts } = report;
  const details = parts.map(({ part, failures, data }) => ({ part, failures, data }));
  return JSON.stringify({ machine, isQuick, isWhole, rows: rowsOf(report), parts: details }, null, 2);
}

/**
 * Returns a document with the results in place of what stood between their markers: the table of all parts between
 * `<!-- bench:table -->` and `<!-- bench:end -->`, and the details of each part that has markers of its name. The table of
 * some parts only is left out, and each of these needs its markers. Throws where a place is missing.
 */
export function writtenInto(document: string, report: BenchReport): string {
  const detailed = report.parts.filter(({ part }) => !report.isWhole || document.includes(beginOf(part)));
  const details = detailed.map(({ part, text }) => [part, `${machineText(report.machine)}\n\n${text}`] as const);
  const table = report.isWhole ? [['table', tableText(report)] as const] : [];
  return [...table, ...details].reduce((text, [name, content]) => replaced(text, name, content), document);
}

/** Returns true where a target is missed or something is as it must not be. Small sizes have no targets. */
export function isMissed(report: BenchReport): boolean {
  const isTargetMissed = !report.isQuick && rowsOf(report).some(({ verdict }) => verdict === 'missed');
  return isTargetMissed || report.parts.some(({ failures }) => failures.length > 0);
}

/** Throws where `writtenInto` would, so that it is known before hours of measuring. */
export function checkPlaces(document: string, names: readonly string[]): void {
  for (const name of names) placeOf(document, name);
}

function replaced(document: string, name: string, content: string): string {
  const { from, to } = placeOf(document, name);
  return `${document.slice(0, from)}\n${content}\n\n${document.slice(to)}`;
}

function beginOf(name: string): string {
  return `<!-- bench:${name} -->\n`;
}

function placeOf(document: string, name: string): { readonly from: number; readonly to: number } {
  const begin = beginOf(name);
  const from = document.indexOf(begin);
  const to = document.indexOf('<!-- bench:end -->', from);
  if (from === -1 || to === -1) throw new Error(`the document has no markers for "${name}": ${begin.trim()}`);
  return { from: from + begin.length, to };
}

/** Returns the rows of a report that was printed as JSON. Throws where the text is none. */
export function readRows(text: string): readonly BenchRow[] {
  const report = jsonOf(text);
  if (isMap(report) && Array.isArray(report.rows)) return report.rows as unknown as readonly BenchRow[];
  throw new Error('--before: the file is no report of `npm run -s bench -- --json`');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller says what it is not.
    return undefined;
  }
}

function cellsOf(row: BenchRow, before: BenchReport['before']): string[] {
  const { part, work, value, unit, peer, peerValue, peerAbsence, ratio, target, verdict, note, others = [] } = row;
  const said = verdict === 'missed' ? 'MISSED' : verdict;
  const earlier = before === undefined ? [] : [earlierValue(row, before)];
  const peers = [peer ?? '–', ...others.map((other) => other.peer)];
  const values = [
    peerText(peerValue, peerAbsence, unit),
    ...others.map((other) => peerText(other.value, other.absence, unit)),
  ];
  const ratios = [ratio, ...others.map((other) => other.ratio)].map(numberText);
  return [
    ...[part, work, ...earlier, withUnit(value, unit)],
    ...[peers, values, ratios].map((lines) => lines.join('<br>')),
    ...[target, note === undefined ? said : `${said}: ${note}`],
  ];
}

function earlierValue({ part, work, unit }: BenchRow, before: readonly BenchRow[]): string {
  return withUnit(before.find((row) => row.part === part && row.work === work)?.value ?? undefined, unit);
}

function peerText(value: number | undefined, absence: string | undefined, unit: string): string {
  return absence === undefined ? withUnit(value, unit) : `not measured: ${absence}`;
}

function withUnit(value: number | undefined, unit: string): string {
  return value === undefined ? '–' : `${numberText(value)} ${unit}`.trim();
}
