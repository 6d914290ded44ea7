// Compares two versions of a file's object, and tells where they differ. Each pair of versions is compared once, however
// many servers depend on it.
import { below, type Entry } from '../model/entry.ts';
import { isMap, isSame, type Json } from '../model/json.ts';

/** More places than these are not listed: one is enough to tell a cause. */
const POINTERS_MAX = 1_000;

const known = new WeakMap<Entry<unknown>, { readonly before: Entry<unknown> | undefined; readonly found: string[] }>();

/** Returns the pointers at which an object differs from its version before, in the order of the file; '' for a new one. */
export function changedPointers(before: Entry<unknown> | undefined, after: Entry<unknown>): readonly string[] {
  const last = known.get(after);
  if (last !== undefined && last.before === before) return last.found;
  const found = isSameContent(before, after) ? [] : differencesOf(before, after);
  known.set(after, { before, found });
  return found;
}

/** Returns true where both have the same bytes; the defaults of a missing hierarchy.yaml too. */
export function isSameContent(a: Entry<unknown> | undefined, b: Entry<unknown> | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.oid === b.oid && a.path === b.path);
}

/** Returns the value at a pointer of JSON; undefined where there is none. */
export function valueAt(value: Json | undefined, pointer: string): Json | undefined {
  let found = value;
  for (const step of pointer.split('/').slice(1)) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = (found as readonly Json[])[Number(key)];
    else found = isMap(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    if (found === undefined) return undefined;
  }
  return found;
}

function differencesOf(before: Entry<unknown> | undefined, after: Entry<unknown>): string[] {
  if (before === undefined || before.object === null || after.object === null) return [''];
  const found: string[] = [];
  compare(before.object as Json, after.object as Json, { pointer: '', found });
  const places = new Map(found.map((pointer) => [pointer, after.locate(pointer)]));
  const lineOf = (pointer: string): number => places.get(pointer)?.line ?? 0;
  return found.sort((a, b) => lineOf(a) - lineOf(b));
}

interface Walk {
  readonly pointer: string;
  readonly found: string[];
}

function compare(before: Json | undefined, after: Json | undefined, { pointer, found }: Walk): void {
  if (found.length >= POINTERS_MAX || isSame(before, after)) return;
  if (isMap(before) && isMap(after)) {
    for (const key of new Set([...Object.keys(after), ...Object.keys(before)])) {
      const [old, now] = [before, after].map((map) => (Object.hasOwn(map, key) ? map[key] : undefined));
      compare(old, now, { pointer: below(pointer, key), found });
    }
  } else if (Array.isArray(before) && Array.isArray(after)) {
    const [old, now] = [before as readonly Json[], after as readonly Json[]];
    const at = now.findIndex((item, index) => !isSame(item, old[index]));
    found.push(below(pointer, at < 0 ? Math.max(0, now.length - 1) : at));
  } else found.push(pointer);
}
