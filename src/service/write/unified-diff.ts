// Computes the difference of two texts in the format of git, which `git apply` accepts.
import { diff } from 'node:util';

const CONTEXT = 3;
/**
 * Beyond this many pairs of lines the middle is shown as removed and added in whole: right, and not the shortest. Node's
 * memory grows with the square of what differs.
 */
const PAIRS_MAX = 250_000;
const NO_NEWLINE = '\\ No newline at end of file';

/** The sign of an operation of Node's `diff`, whose first text is the earlier one. */
const SIGNS = { '-1': '+', '0': ' ', '1': '-' } as const;

interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

/** Returns the difference of one file, or an empty text where there is none; null: there is no file. */
export function unifiedDiff(path: string, before: string | null, after: string | null): string {
  if (before === after) return '';
  const lines = compareLines(linesOf(before ?? ''), linesOf(after ?? ''));
  const head = [
    `diff --git a/${path} b/${path}`,
    ...(before === null ? ['new file mode 100644'] : []),
    ...(after === null ? ['deleted file mode 100644'] : []),
  ];
  const hunks = groupIntoHunks(lines);
  const names = [
    `--- ${before === null ? '/dev/null' : `a/${path}`}`,
    `+++ ${after === null ? '/dev/null' : `b/${path}`}`,
  ];
  return `${[...head, ...(hunks.length === 0 ? [] : names), ...hunks].join('\n')}\n`;
}

/** Each with its line end, so that a last line without one is another line. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function compareLines(before: readonly string[], after: readonly string[]): readonly Line[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const removed = before.slice(start, before.length - end);
  const given = after.slice(start, after.length - end);
  return [
    ...signed(' ', before.slice(0, start)),
    ...(removed.length * given.length > PAIRS_MAX
      ? [...signed('-', removed), ...signed('+', given)]
      : diff(removed, given).map(([operation, text]): Line => ({ sign: SIGNS[operation], text }))),
    ...signed(' ', before.slice(before.length - end)),
  ];
}

function signed(sign: Line['sign'], texts: readonly string[]): Line[] {
  return texts.map((text) => ({ sign, text }));
}

/** Changes that are no more than twice the context apart share a hunk. */
function groupIntoHunks(lines: readonly Line[]): readonly string[] {
  const hunks: string[] = [];
  const changed = lines.flatMap(({ sign }, index) => (sign === ' ' ? [] : [index]));
  for (let first = 0; first < changed.length; ) {
    let last = first;
    while ((changed[last + 1] ?? Number.POSITIVE_INFINITY) - (changed[last] ?? 0) <= 2 * CONTEXT + 1) last += 1;
    const from = Math.max(0, (changed[first] ?? 0) - CONTEXT);
    hunks.push(...writeHunk(lines, from, (changed[last] ?? 0) + CONTEXT + 1));
    first = last + 1;
  }
  return hunks;
}

function writeHunk(lines: readonly Line[], from: number, to: number): readonly string[] {
  const shown = lines.slice(from, to);
  const range = (without: '+' | '-'): string => {
    const before = lines.slice(0, from).filter(({ sign }) => sign !== without).length;
    const count = shown.filter(({ sign }) => sign !== without).length;
    return `${count === 0 ? before : before + 1},${count}`;
  };
  return [
    `@@ -${range('+')} +${range('-')} @@`,
    ...shown.flatMap(({ sign, text }) =>
      text.endsWith('\n') ? [`${sign}${text.slice(0, -1)}`] : [`${sign}${text}`, NO_NEWLINE],
    ),
  ];
}
