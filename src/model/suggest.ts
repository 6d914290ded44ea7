// Suggests the nearest name in scope for hints: "did you mean".
import { compareNames } from './names.ts';

const DISTANCE_MAX = 2;
/** No name of an object is longer; a longer value is not a misspelt name. */
const LENGTH_MAX = 250;

/**
 * Returns `did you mean "x"?` for the nearest candidate within edit distance 2 (1 if both have five characters at
 * most), or null. Of several equally near ones it is the first by code unit. The work is linear in the candidates, and
 * small for those of another length.
 */
export function didYouMean(name: string, candidates: Iterable<string>): string | null {
  if (name.length > LENGTH_MAX) return null;
  const wanted = name.toLowerCase();
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    if (candidate === name || Math.abs(candidate.length - name.length) > DISTANCE_MAX) continue;
    const limit = Math.min(best?.distance ?? DISTANCE_MAX, limitFor(name, candidate));
    const distance = editDistance(wanted, candidate.toLowerCase(), limit);
    if (distance > limit) continue;
    if (best === undefined || distance < best.distance || compareNames(candidate, best.name) < 0) {
      best = { name: candidate, distance };
    }
  }
  return best === undefined ? null : `did you mean "${best.name}"?`;
}

/** Returns a message that ends with what {@link didYouMean} says of a name, if anything. */
export function withSuggestion(message: string, name: string, candidates: Iterable<string>): string {
  const hint = didYouMean(name, candidates);
  return hint === null ? message : `${message}; ${hint}`;
}

/** Half of a short name is another name: `nope` is not `name`. */
function limitFor(a: string, b: string): number {
  const length = Math.max(a.length, b.length);
  if (Math.min(a.length, b.length) === 0 || length < 2) return 0;
  return length < 6 ? 1 : DISTANCE_MAX;
}

/**
 * Returns the Levenshtein distance with swapped neighbours counted once, or any number above `limit` if it is above.
 * Skips the common prefix and suffix, and fills only cells that may be within the limit.
 */
function editDistance(a: string, b: string, limit: number): number {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (Math.abs(left.length - right.length) > limit) return limit + 1;
  if (left.length === 0 || right.length === 0) return Math.max(left.length, right.length);
  return bandedDistance(left, right, limit);
}

/** The cell `k` of a row is that of the column `i + k - limit`: cells further from the diagonal are above the limit. */
function bandedDistance(a: string, b: string, limit: number): number {
  const above = limit + 1;
  const width = 2 * limit + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: width }, (_, k) => (k < limit ? above : k - limit));
  for (let i = 1; i <= a.length; i++) {
    const row: number[] = [];
    for (let k = 0; k < width; k++) {
      const j = i + k - limit;
      if (j < 0 || j > b.length) {
        row.push(above);
        continue;
      }
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let value = Math.min((last[k + 1] ?? above) + 1, (row[k - 1] ?? above) + 1);
      value = j === 0 ? i : Math.min(value, (last[k] ?? above) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        value = Math.min(value, (beforeLast[k] ?? above) + 1);
      row.push(value);
    }
    if (Math.min(...row) > limit) return above;
    beforeLast = last;
    last = row;
  }
  return last[b.length - a.length + limit] ?? above;
}
