// Defines work in steps: a pure stage yields between two steps, so that its caller can let other work run in between. The
// stage does not know whether anything did, and its result does not depend on it. Long lists of names are sorted so.
import { compareNames } from '../model/names.ts';

/** Work that ends with a result. It yields nothing: each yield is a place at which the caller may pause. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** How many items of a long list are one step. */
const ITEMS_A_STEP = 100;

/** Returns the result of work that nothing interrupts. */
export function finish<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Returns work whose result is known already. */
export function* withResult<Result>(result: Result): Steps<Result> {
  yield;
  return result;
}

/** Calls `visit` with every item, in steps of many items. */
export function* visitAll<Item>(items: Iterable<Item>, visit: (item: Item) => void): Steps<void> {
  let count = 0;
  for (const item of items) {
    visit(item);
    count += 1;
    if (count % ITEMS_A_STEP === 0) yield;
  }
}

/** How many names are one step. */
const NAMES_A_STEP = 500;

/** Returns the names in the order of `compareNames`. */
export function* sortNames(names: readonly string[]): Steps<readonly string[]> {
  let parts: (readonly string[])[] = [];
  for (let start = 0; start < names.length; start += NAMES_A_STEP) {
    parts.push(names.slice(start, start + NAMES_A_STEP).sort(compareNames));
    yield;
  }
  while (parts.length > 1) {
    const merged: (readonly string[])[] = [];
    for (let at = 0; at < parts.length; at += 2) merged.push(yield* merge(parts[at] ?? [], parts[at + 1] ?? []));
    parts = merged;
  }
  return parts[0] ?? [];
}

function* merge(left: readonly string[], right: readonly string[]): Steps<readonly string[]> {
  const merged: string[] = [];
  let at = 0;
  for (const name of left) {
    for (let next = right[at]; next !== undefined && compareNames(next, name) < 0; next = right[at]) {
      merged.push(next);
      at += 1;
      if (merged.length % NAMES_A_STEP === 0) yield;
    }
    merged.push(name);
    if (merged.length % NAMES_A_STEP === 0) yield;
  }
  for (const name of right.slice(at)) merged.push(name);
  return merged;
}
