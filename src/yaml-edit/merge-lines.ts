// Compares lists and lines before and after an edit, and merges the change of a printed form into the lines of its file.
import { diffArrays } from 'diff';
import { isMap, type Json } from '../model/json.ts';

/** With more changes nothing is compared: the work grows with the square of the number of changes. */
const CHANGES_MAX = 2_000;

/** Returns for each wanted item the index of the old item that it was, or -1 if it is new. The indices grow. */
export function matchItems(old: readonly Json[], wanted: readonly Json[]): number[] {
  const matched = match(old.map(identityOf), wanted.map(identityOf), true);
  return matched ?? wanted.map((_item, index) => (index < old.length ? index : -1));
}

/** An item remains the same item while it has the same name, or else the same value. */
function identityOf(item: Json): string {
  if (isMap(item) && typeof item.name === 'string') return `name ${item.name}`;
  return JSON.stringify(item, (_key, value: Json) =>
    isMap(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
}

/** Returns for each text the index of the same one before, or -1. `replaces`: a new one takes the place of a removed one. */
function match(before: readonly string[], after: readonly string[], replaces = false): number[] | undefined {
  const parts = diffArrays([...before], [...after], { maxEditLength: CHANGES_MAX });
  const matched: number[] = [];
  let [from, end] = [0, 0];
  for (const { count, added, removed } of parts ?? []) {
    if (!added) [from, end] = [removed && replaces ? from : end, end + count];
    if (removed && !replaces) from = end;
    for (let left = removed ? 0 : count; left > 0; left--) matched.push(from < end ? from++ : -1);
  }
  return parts && matched;
}

/** Returns `after` with the lines of the file in place of those that `before`, the printed file, has, too. */
export function mergeLines(lines: readonly string[], before: readonly string[], after: readonly string[]): string[] {
  const blocks = blocksOf(lines, before);
  const same = match(before, after) ?? [];
  const merged: string[] = [];
  for (let at = 0; at < after.length; ) {
    const from = same[at] ?? -1;
    const block = blocks.get(from);
    const isKept = block && before.slice(from, from + block.count).every((_line, nth) => same[at + nth] === from + nth);
    merged.push(...(isKept ? block.lines : [(after[at] ?? '').replace(/^ +(?=\r?$)/, '')]));
    at += isKept ? block.count : 1;
  }
  return merged;
}

/** Lines of a file, and how many lines are printed for them. */
interface Block {
  readonly lines: readonly string[];
  readonly count: number;
}

/** Returns the blocks of a file by their first printed line: the shortest ones that read alike. */
function blocksOf(lines: readonly string[], printed: readonly string[]): ReadonlyMap<number, Block> {
  const [bareLines, barePrinted] = [lines.map(bare), printed.map(bare)];
  const blocks = new Map<number, Block>();
  let [line, at] = [0, 0];
  const add = (toLine: number, to: number): void => {
    if (to > at) blocks.set(at, { lines: lines.slice(line, to < printed.length ? toLine : undefined), count: to - at });
    if (to > at) [line, at] = [toLine, to];
  };
  // Blank lines are alike, and say nothing about what belongs together.
  const same = match(
    bareLines.map((text) => text || 'written'),
    barePrinted.map((text) => text || 'printed'),
  );
  for (const [next, from] of [...(same ?? []), lines.length].entries()) {
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

/** Without blanks and quotes, which only differ in how a value is written. */
function bare(line: string): string {
  return line.replaceAll(/[\s"']/g, '');
}
