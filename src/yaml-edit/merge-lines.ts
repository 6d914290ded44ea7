// Compares lists and lines before and after an edit, and merges changes of the printed form into the lines of the file.
import { diffArrays } from 'diff';
import { isMap, type Json } from '../model/json.ts';

/** The limit of changes, because the work grows with the square of their number. */
const CHANGES_MAX = 2_000;

type Lines = readonly string[];

/**
 * Returns for each wanted item the index of its old item, or -1 if it is new. The indexes increase. A new item takes
 * the place of a removed one.
 */
export function matchItems(old: readonly Json[], wanted: readonly Json[]): number[] {
  const same = match(old.map(identityOf), wanted.map(identityOf));
  if (same === undefined) return wanted.map((_item, index) => (index < old.length ? index : -1));
  let [free, end] = [0, -1];
  return same.map((from, at) => {
    if (from === -1 && end < free) end = same.slice(at).find((next) => next !== -1) ?? old.length;
    if (from === -1 && free === end) return -1;
    free = (from === -1 ? free : from) + 1;
    return free - 1;
  });
}

/** Returns the identity of an item: its name, or its value if it has no name. */
function identityOf(item: Json): string {
  if (isMap(item) && typeof item.name === 'string') return `name ${item.name}`;
  return JSON.stringify(item, (_key, value: Json) =>
    isMap(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
}

/** Returns for each text the index of the same text before, or -1; undefined if there are too many changes. */
function match(before: Lines, after: Lines): number[] | undefined {
  const [left, right] = [indicesShared(before, after), indicesShared(after, before)];
  const [old, now] = [left.map((index) => before[index]), right.map((index) => after[index])];
  const matched = after.map(() => -1);
  let [from, to] = [0, 0];
  const parts = diffArrays(old, now, { maxEditLength: CHANGES_MAX });
  for (const { count, added, removed } of parts ?? []) {
    if (added) to += count;
    else if (removed) from += count;
    else for (let rest = count; rest > 0; rest--) matched[right[to++] as number] = left[from++] as number;
  }
  return parts && matched;
}

/** Returns the indexes of texts that `others` contains too. Only these can match. */
function indicesShared(texts: Lines, others: Lines): readonly number[] {
  const known = new Set(others);
  return texts.flatMap((text, index) => (known.has(text) ? index : []));
}

/**
 * Returns `after`, with the file's lines for unchanged printed lines (`before`); undefined if there are too many
 * changes.
 */
export function mergeLines(lines: Lines, before: Lines, after: Lines): string[] | undefined {
  const [blocks, same] = [blocksOf(lines, before), match(before, after)];
  if (blocks === undefined || same === undefined) return undefined;
  const merged: string[] = [];
  for (let at = 0; at < after.length; ) {
    const from = same[at] as number;
    const block = blocks.get(from);
    const isKept = block && before.slice(from, from + block.count).every((_line, nth) => same[at + nth] === from + nth);
    merged.push(...(isKept ? block.lines : [(after[at] as string).replace(/^ +(?=\r?$)/, '')]));
    at += isKept ? block.count : 1;
  }
  return merged;
}

/** Returns the smallest matching blocks of the file and its printed form, by their first printed line. */
function blocksOf(lines: Lines, printed: Lines) {
  const [bareLines, barePrinted] = [lines.map(bare), printed.map(bare)];
  const blocks = new Map<number, { readonly lines: Lines; readonly count: number }>();
  let [line, at] = [0, 0];
  const add = (toLine: number, to: number): void => {
    if (to > at) blocks.set(at, { lines: lines.slice(line, to < printed.length ? toLine : undefined), count: to - at });
    if (to > at) [line, at] = [toLine, to];
  };
  // Blank lines are all equal, so they cannot match lines.
  const same = match(
    bareLines.map((text) => text || 'written'),
    barePrinted.map((text) => text || 'printed'),
  );
  if (same === undefined) return undefined;
  for (const [next, from] of [...same, lines.length].entries()) {
    if (from === -1) continue;
    let [row, left, right] = [line, '', ''];
    for (let column = at; column < next; column++) {
      right += barePrinted[column];
      if (row < from && barePrinted[column] === '' && bareLines[row] === '') row++;
      while (row < from && left.length < right.length) left += bareLines[row++];
      if (left === right) add(row, column + 1);
    }
    add(from, next);
    if (next < printed.length) add(from + 1, next + 1);
  }
  return blocks;
}

/** Removes blanks and quotes, which are only style. */
function bare(line: string): string {
  return line.replaceAll(/[\s"']/g, '');
}
