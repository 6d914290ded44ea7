// Prints the output of commands: text for users, JSON for programs. Escapes untrusted text as in JSON, so that it
// cannot move the cursor, change colours or titles, or look like a line of Treeline.
import { InvalidArgumentError, Option } from 'commander';
import { escapeCharacter, visible } from '../base/wording.ts';
import type { ReplicaFacts, StateCounts } from '../service/answers.ts';

/** The formats of `--format`. */
export type Format = 'text' | 'json';

/** Returns the option `--format text|json`. */
export function formatOption(): Option {
  return new Option('--format <format>', 'how to print').choices(['text', 'json']).default('text');
}

/** Returns a function that reads a whole number in a range, as an option. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`write a whole number from ${least} to ${most}`);
  };
}

/** The most seconds that an option takes. */
export const SECONDS_MAX = 86_400;

/**
 * Prints one or more lines. Escapes terminal control characters. A caller that prints untrusted text must use
 * {@link visibleLine} for line ends.
 */
export function print(text: string): void {
  process.stdout.write(`${visible(text)}\n`);
}

/** Prints a text whose terminal control characters are already escaped, except Treeline's colours. */
export function printEscaped(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Returns a word for a shell, quoted if necessary. */
export function shellWord(word: string): string {
  return /^[\w./@:-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns the first lines of a text that fit on a screen. A long line takes several rows. */
export function screenOf(text: string, { rows, columns }: { readonly rows: number; readonly columns: number }): string {
  let left = rows;
  const shown: string[] = [];
  for (const line of visible(text).split('\n')) {
    if (left <= 0) break;
    shown.push(line.slice(0, left * columns));
    left -= Math.max(1, Math.ceil(line.length / columns));
  }
  return shown.join('\n');
}

/** Prints a value in the requested format: as JSON, or as `text`. */
export function printAs(format: Format, value: unknown, text: () => string): void {
  print(format === 'json' ? JSON.stringify(value, null, 2) : text());
}

/**
 * Returns a table as lines. Each column is as wide as its widest cell of at most `widthMax`. Omits empty columns.
 */
export function tableLines(
  rows: readonly (readonly string[])[],
  widthMax = Number.POSITIVE_INFINITY,
): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      if (cell.length <= widthMax) widths[column] = Math.max(widths[column] ?? 0, cell.length);
    });
  }
  return rows.map((row) => {
    const cells = row.flatMap((cell, column) => {
      const width = widths[column] ?? 0;
      return cell === '' && width === 0 ? [] : [visibleLine(cell).padEnd(width)];
    });
    return `    ${cells.join('  ')}`.trimEnd();
  });
}

/** Returns a line such as `servers: 1 failed, 2 done`; no line if there are no servers. */
export function formatCounts(counts: StateCounts): readonly string[] {
  const parts = Object.entries(counts).map(([state, count]) => `${count} ${state}`);
  return parts.length === 0 ? [] : [`servers: ${parts.join(', ')}`];
}

/**
 * Returns lines about the leader and the lag of the answering replica; none without replicas.
 */
export function formatReplicas({ leader, lag }: ReplicaFacts): readonly string[] {
  const lines: string[] = [];
  if (leader === null) lines.push('no replica is known to lead; this is the state of the replica that answered');
  else if (leader !== undefined) {
    lines.push(
      `the replica ${visibleLine(leader.name)} leads since ${leader.since}, with the fencing number ${leader.fencing}`,
    );
  }
  if (lag !== undefined) {
    lines.push(`the replica that answered has been behind the leader since ${lag.since}: ${firstLine(lag.reason)}`);
  }
  return lines;
}

/** Returns a text as one line with escaped terminal control characters. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll('\n', escapeCharacter);
}

/**
 * Returns a text indented below a heading, so that no line of untrusted text looks like a line of Treeline.
 */
export function belowHeading(text: string): string {
  return `    ${text.replaceAll('\n', '\n    | ')}`;
}

/** An item of a list: its title, reason and advice. */
interface ListedItem {
  readonly title: string;
  readonly since?: string | null | undefined;
  readonly reason: string;
  /** Further lines, indented. */
  readonly details?: readonly string[];
  readonly action?: string | null;
}

/** Returns an item as text: title with time, reason, details, advice. */
export function formatItem({ title, since = null, reason, details = [], action = null }: ListedItem): string {
  return [
    `${title}${since === null ? '' : `, since ${since}`}`,
    belowHeading(reason),
    ...details,
    ...(action === null ? [] : [`    do: ${action}`]),
  ].join('\n');
}

/** Returns the first line of a text, with an ellipsis if there are more. */
export function firstLine(text: string): string {
  const [first = '', ...others] = text.split('\n');
  return others.length === 0 ? first : `${first} …`;
}
