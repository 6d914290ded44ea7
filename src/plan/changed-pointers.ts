// Compares two versions of a file's object, and lists the places that differ. Each pair of versions is compared once,
// however many servers depend on it.
import { below, type Entry } from '../model/entry.ts';
import { fieldOf, isMap, isSame, type Json } from '../model/json.ts';

/** The limit of listed places. One is enough for a cause. */
const POINTERS_MAX = 1_000;

const known = new WeakMap<Entry<unknown>, { readonly before: Entry<unknown> | undefined; readonly found: string[] }>();

/**
 * Returns the pointers at which an object differs from its earlier version, in the order of the file; '' for a new
 * object.
 */
export function changedPointers(before: Entry<unknown> | undefined, after: Entry<unknown>): readonly string[] {
  const last = known.get(after);
  if (last !== undefined && last.before === before) return last.found;
  const found = compareEntries(before, after);
  known.set(after, { before, found });
  return found;
}

/** Returns true if both have the same bytes, or both are the defaults of a missing hierarchy.yaml. */
export function isSameContent(a: Entry<unknown> | undefined, b: Entry<unknown> | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.oid === b.oid && a.path === b.path);
}

/** Returns the value at a JSON pointer; undefined if there is none. */
export function valueAt(value: Json | undefined, pointer: string): Json | undefined {
  let found = value;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = (found as readonly Json[])[Number(key)];
    else found = isMap(found) ? fieldOf(found, key) : undefined;
  }
  return found;
}

function compareEntries(before: Entry<unknown> | undefined, after: Entry<unknown>): string[] {
  if (before === undefined || before.object === null || after.object === null) return [''];
  const found = compare(before.object as Json, after.object as Json, '').take(POINTERS_MAX);
  // `locate` returns the first line for a value that is not in the file, such as a default.
  const first = after.locate('').line;
  const places = [...found].map((pointer) => ({ pointer, line: after.locate(pointer).line }));
  const rankOf = ({ line }: { readonly line: number }): number => (line === first ? Number.MAX_SAFE_INTEGER : line);
  return places.sort((a, b) => rankOf(a) - rankOf(b)).map(({ pointer }) => pointer);
}

/** Lists a map that is only on one side by its innermost values. */
function* compare(before: Json | undefined, after: Json | undefined, pointer: string): Generator<string> {
  if (isSame(before, after)) return;
  const [old, now] = [before, after].map((value) => value ?? (isFilled(before ?? after) ? {} : undefined));
  if (isMap(old) && isMap(now)) {
    for (const key of new Set([...Object.keys(now), ...Object.keys(old)])) {
      yield* compare(fieldOf(old, key), fieldOf(now, key), below(pointer, key));
    }
  } else yield Array.isArray(old) && Array.isArray(now) ? below(pointer, firstDifference(old, now)) : pointer;
}

function isFilled(value: Json | undefined): boolean {
  return isMap(value) && Object.keys(value).length > 0;
}

/** Returns the index of the first item of `now` that differs; the last index if only items at the end are missing. */
function firstDifference(old: readonly Json[], now: readonly Json[]): number {
  const at = now.findIndex((item, index) => !isSame(item, old[index]));
  return at < 0 ? Math.max(0, now.length - 1) : at;
}
