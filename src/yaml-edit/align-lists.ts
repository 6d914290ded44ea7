// Matches the items of an old list with those of a new one, so that few lines of a file have to change.
import { isMap, type Json } from '../model/json.ts';

/** Beyond 1,000 items against 1,000, items are matched by their index alone. */
const CELLS_MAX = 1_000_000;

/** The worth of a pair. At most 1,000 pairs are compared, so lesser pairs never outweigh a better one. */
const SAME = 1e8;
const NAMESAKE = 1e4;
const ANY = 1;

/** One item: two are the same where their `value` is. */
interface Item {
  readonly value: number;
  /** The field `name` of a map. */
  readonly name: Json | undefined;
}

/**
 * Returns, for every item of `wanted`, the index of the item of `old` that it was, or -1 if it is new. Indices rise.
 * Equal items are matched first, then maps of the same `name`, then whatever is left between them: so between two matched
 * items there are either old ones left over or new ones, never both.
 */
export function alignLists(old: readonly Json[], wanted: readonly Json[]): readonly number[] {
  const values = new Map<string, number>();
  const before = old.map((item) => numberItem(item, values));
  const after = wanted.map((item) => numberItem(item, values));
  const shorter = Math.min(old.length, wanted.length);
  let head = 0;
  while (head < shorter && before[head]?.value === after[head]?.value) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail)?.value === after.at(-1 - tail)?.value) tail++;
  const middle = alignMiddle(before.slice(head, old.length - tail), after.slice(head, wanted.length - tail));
  return wanted.map((_, index) => {
    if (index < head) return index;
    if (index >= wanted.length - tail) return index + old.length - wanted.length;
    const was = middle[index - head] ?? -1;
    return was === -1 ? -1 : was + head;
  });
}

function numberItem(item: Json, values: Map<string, number>): Item {
  const identity = JSON.stringify(item, (_, value) =>
    isMap(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
  const value = values.get(identity) ?? values.size;
  values.set(identity, value);
  return { value, name: isMap(item) ? item.name : undefined };
}

function alignMiddle(old: readonly Item[], wanted: readonly Item[]): readonly number[] {
  if (old.length * wanted.length > CELLS_MAX) return wanted.map((_, index) => (index < old.length ? index : -1));
  const worth = worthTable(old, wanted);
  const aligned: number[] = [];
  let from = 0;
  for (const [to, item] of wanted.entries()) {
    const isPaired = (): boolean => {
      const was = old[from];
      return was !== undefined && worth(from, to) === weighPair(was, item) + worth(from + 1, to + 1);
    };
    while (!isPaired() && from < old.length && worth(from, to) === worth(from + 1, to)) from++;
    aligned.push(isPaired() ? from++ : -1);
  }
  return aligned;
}

/** Returns a function that tells the most that the items from two indices on are worth when they are paired. */
function worthTable(old: readonly Item[], wanted: readonly Item[]): (from: number, to: number) => number {
  const width = wanted.length + 1;
  const table = new Float64Array((old.length + 1) * width);
  const at = (from: number, to: number): number => table[from * width + to] ?? 0;
  for (const [from, was] of [...old.entries()].reverse()) {
    for (const [to, is] of [...wanted.entries()].reverse()) {
      const paired = weighPair(was, is) + at(from + 1, to + 1);
      table[from * width + to] = Math.max(paired, at(from + 1, to), at(from, to + 1));
    }
  }
  return at;
}

function weighPair(was: Item, is: Item): number {
  if (was.value === is.value) return SAME;
  return typeof was.name === 'string' && was.name === is.name ? NAMESAKE : ANY;
}
