// Finds out which item of a list became which when the list was edited.
import { isMap, type Json } from '../model/json.ts';

/**
 * Longer lists are matched by their equal ends and then by their order: the work grows with the product of the lengths.
 */
const PRODUCT_MAX = 1_000_000;

/** Returns for each wanted item the index of the old item that it was, or -1 if it is new. The indices grow. */
export function matchItems(old: readonly Json[], wanted: readonly Json[]): number[] {
  const [before, after] = [old.map(identityOf), wanted.map(identityOf)];
  const matched = new Array<number>(after.length).fill(-1);
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) matched[start] = start++;
  let [end, to] = [before.length, after.length];
  while (end > start && to > start && before[end - 1] === after[to - 1]) matched[--to] = --end;
  for (const [from, at] of commonItems(before.slice(start, end), after.slice(start, to))) {
    matched[at + start] = from + start;
  }
  matchInOrder(matched, old.length);
  return matched;
}

/** An item remains the same item while it has the same name, or else the same value. */
function identityOf(item: Json): string {
  if (isMap(item) && typeof item.name === 'string') return `name ${item.name}`;
  return JSON.stringify(item, (_key, value: Json) =>
    isMap(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
}

/** Returns the pairs of the longest common subsequence. */
function commonItems(before: readonly string[], after: readonly string[]): readonly (readonly [number, number])[] {
  if (before.length * after.length > PRODUCT_MAX) return [];
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  const at = (row: number, column: number): number => (lengths[row] as Uint16Array)[column] as number;
  for (let row = before.length - 1; row >= 0; row--) {
    for (let column = after.length - 1; column >= 0; column--) {
      const isCommon = before[row] === after[column];
      const length = isCommon ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
      (lengths[row] as Uint16Array)[column] = length;
    }
  }
  const pairs: [number, number][] = [];
  for (let [row, column] = [0, 0]; at(row, column) > 0; ) {
    if (before[row] === after[column]) pairs.push([row++, column++]);
    else if (at(row + 1, column) >= at(row, column + 1)) row++;
    else column++;
  }
  return pairs;
}

/** Matches the other items between two pairs by their order: they have changed. */
function matchInOrder(matched: number[], length: number): void {
  let start = 0;
  for (const [index, at] of [...matched, length].entries()) {
    if (at === -1) continue;
    let from = start === 0 ? 0 : (matched[start - 1] as number) + 1;
    for (; start < index && from < at; start++) matched[start] = from++;
    start = index + 1;
  }
}
