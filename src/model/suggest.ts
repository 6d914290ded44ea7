// "Did you mean": the nearest name in scope, for hints.
import { compareNames } from './names.ts';

const DISTANCE_MAX = 2;

/** Returns `did you mean "x"?` for the nearest candidate within edit distance 2, or null. */
export function didYouMean(name: string, candidates: Iterable<string>): string | null {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const candidate of [...candidates].sort(compareNames)) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (
      candidate !== name &&
      distance <= DISTANCE_MAX &&
      distance * 2 <= name.length &&
      distance < (best?.distance ?? 9)
    ) {
      best = { name: candidate, distance };
    }
  }
  return best === undefined ? null : `did you mean "${best.name}"?`;
}

/** Levenshtein distance with swapped neighbours counted once; stops counting above the limit that matters here. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > DISTANCE_MAX) return DISTANCE_MAX + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let value = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        value = Math.min(value, (beforeLast[j - 2] ?? 0) + 1);
      row.push(value);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
