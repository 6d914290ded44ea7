// Suggests the nearest name in scope for hints: "did you mean".
import { compareNames } from './names.ts';

const DISTANCE_MAX = 2;
/** No name of an object is longer; a longer value is not a misspelt name. */
const LENGTH_MAX = 250;
/** More candidates are not looked at: a client that asks for names that are not there makes others wait. */
export const CANDIDATES_MAX = 1_000;

/**
 * Returns `did you mean "x"?` for the nearest candidate within edit distance 2 (1 if both have five characters at
 * most), or null. Of several equally near ones it is the first by code unit. The first 1,000 candidates are looked at; the
 * work is small for those of another length.
 */
export function didYouMean(name: string, candidates: Iterable<string>): string | null {
  if (name.length > LENGTH_MAX) return null;
  const wanted = name.toLowerCase();
  let best: { readonly name: string; readonly distance: number } | undefined;
  let seen = 0;
  for (const candidate of candidates) {
    if (++seen > CANDIDATES_MAX) break;
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
 * Returns the Levenshtein distance with swapped neighbours counted once, or any number above `limit` if it is above. Follows
 * each way of correcting the first difference with one change less: with a limit of 2 there are at most sixteen.
 */
function editDistance(a: string, b: string, limit: number, atA = 0, atB = 0): number {
  let [i, j] = [atA, atB];
  while (i < a.length && a.charCodeAt(i) === b.charCodeAt(j)) {
    i += 1;
    j += 1;
  }
  const [restA, restB] = [a.length - i, b.length - j];
  if (restA === 0 || restB === 0) return Math.max(restA, restB);
  if (limit === 0 || Math.abs(restA - restB) > limit) return limit + 1;
  const isSwapped = a.charCodeAt(i) === b.charCodeAt(j + 1) && a.charCodeAt(i + 1) === b.charCodeAt(j);
  return (
    1 +
    Math.min(
      editDistance(a, b, limit - 1, i + 1, j + 1),
      editDistance(a, b, limit - 1, i + 1, j),
      editDistance(a, b, limit - 1, i, j + 1),
      isSwapped ? editDistance(a, b, limit - 1, i + 2, j + 2) : limit,
    )
  );
}
