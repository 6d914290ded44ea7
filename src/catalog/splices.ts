// Replaces parts of a text, all at once: places are those of the text as it was.
import { invariant } from '../model/invariant.ts';

export interface Splice {
  readonly start: number;
  /** Not included; the same as `start` where something is only put in. */
  readonly end: number;
  readonly text: string;
}

/**
 * Returns the text with all splices done; no two may overlap. What is put in at the same place keeps the order of the
 * list, and stands before whatever is replaced from there on.
 */
export function applySplices(text: string, splices: readonly Splice[]): string {
  const parts: string[] = [];
  let done = 0;
  for (const splice of splices.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    invariant(splice.start >= done, 'splices do not overlap');
    parts.push(text.slice(done, splice.start), splice.text);
    done = splice.end;
  }
  return parts.join('') + text.slice(done);
}
