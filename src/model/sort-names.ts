// Sorts a long list of names in steps: short parts of it at once, then two sorted parts into one.
import { compareNames } from './names.ts';
import type { Steps } from './steps.ts';

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
