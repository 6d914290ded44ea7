// Finds out which item of a list became which when the list was edited.
import { diffArrays } from 'diff';
import { isMap, type Json } from '../model/json.ts';

/** Lists with more changes are matched by their order: the work grows with the square of the number of changes. */
const CHANGES_MAX = 2_000;

/** Returns for each wanted item the index of the old item that it was, or -1 if it is new. The indices grow. */
export function matchItems(old: readonly Json[], wanted: readonly Json[]): number[] {
  const [before, after] = [old.map(identityOf), wanted.map(identityOf)];
  const parts = diffArrays(before, after, { maxEditLength: CHANGES_MAX });
  if (parts === undefined) return after.map((_item, index) => (index < before.length ? index : -1));
  const matched: number[] = [];
  let [from, end] = [0, 0];
  for (const { count, added, removed } of parts) {
    if (removed) {
      end += count;
      continue;
    }
    // New items take the places of removed ones.
    if (!added) [from, end] = [end, end + count];
    for (let left = count; left > 0; left--) matched.push(from < end ? from++ : -1);
  }
  return matched;
}

/** An item remains the same item while it has the same name, or else the same value. */
function identityOf(item: Json): string {
  if (isMap(item) && typeof item.name === 'string') return `name ${item.name}`;
  return JSON.stringify(item, (_key, value: Json) =>
    isMap(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
}
