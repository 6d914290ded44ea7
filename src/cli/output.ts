// Prints the output of commands: text for people, JSON for programs. Text of strangers cannot move the cursor, change
// colours or titles, or look like a line of Treeline: it is escaped as in JSON.
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
 * Prints a line, or several. What a terminal would obey is escaped; who lists what others have named makes lines of it.
 */
export function print(text: string): void {
  process.stdout.write(`${visible(text)}\n`);
}

/** Prints a text in which everything that a terminal obeys is escaped already, but for the colours of the program. */
export function printEscaped(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Returns a word as a shell reads it, in quotes if it needs them. */
export function shellWord(word: string): string {
  return /^[\w./@:-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns the first lines of a text that fit on a screen, where a long line takes several rows. */
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

/** Prints a value in the format that was asked for: as JSON, or as `text` for people. */
export function printAs(format: Format, value: unknown, text: () => string): void {
  print(format === 'json' ? JSON.stringify(value, null, 2) : text());
}

/**
 * Returns rows as lines below a heading, each column as wide as its widest cell of at most `widthMax`; empty columns
 * are left out.
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

/** Returns a line such as `servers: 1 failed, 2 done`; none where there are no servers. */
export function formatCounts(counts: StateCounts): readonly string[] {
  const parts = Object.entries(counts).map(([state, count]) => `${count} ${state}`);
  return parts.length === 0 ? [] : [`servers: ${parts.join(', ')}`];
}

/**
 * Returns lines that say who leads, and whether the replica that was asked is behind; none of a controller without
 * replicas.
 */
export function formatReplicas({ leader, lag }: ReplicaFacts): readonly string[] {
  const lines: string[] = [];
  if (leader === null) lines.push('no replica is known to lead; this is what the replica shows that was asked');
  else if (leader !== undefined) {
    lines.push(
      `the replica ${visibleLine(leader.name)} leads since ${leader.since}, with the fencing number ${leader.fencing}`,
    );
  }
  if (lag !== undefined) {
    lines.push(`the replica that was asked shows an earlier moment since ${lag.since}: ${firstLine(lag.reason)}`);
  }
  return lines;
}

/** Returns a text as one line in which everything that a terminal obeys is escaped. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll('\n', escapeCharacter);
}

/**
 * Returns a text below a heading: what others have written looks like no line of Treeline, however many lines it has.
 */
export function belowHeading(text: string): string {
  return `    ${text.replaceAll('\n', '\n    | ')}`;
}

/** An item of a list: what it is about, why, and what to do. */
interface ListedItem {
  readonly title: string;
  readonly since?: string | null | undefined;
  readonly reason: string;
  /** Further lines, indented. */
  readonly details?: readonly string[];
  readonly action?: string | null;
}

/** Returns an item as its title with its time, its reason, its details, and what to do. */
export function formatItem({ title, since = null, reason, details = [], action = null }: ListedItem): string {
  return [
    `${title}${since === null ? '' : `, since ${since}`}`,
    belowHeading(reason),
    ...details,
    ...(action === null ? [] : [`    do: ${action}`]),
  ].join('\n');
}

/** Returns the first line of a text, with a sign that there are more. */
export function firstLine(text: string): string {
  const [first = '', ...others] = text.split('\n');
  return others.length === 0 ? first : `${first} …`;
}
