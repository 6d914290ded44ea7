// Turns offsets in a text into lines and columns. Lines end as in YAML: at LF, CR LF, or CR.
import type { Place } from '../model/problem.ts';

/** Returns the place of an offset, both counted from 1, columns in UTF-16 units. */
export type PlaceOf = (offset: number) => Place;

/** Returns a function that finds places in `text`; the text is read once, at its first call. */
export function indexLines(text: string): PlaceOf {
  let starts: readonly number[] | undefined;
  return (offset) => {
    starts ??= lineStarts(text);
    const line = lineOf(starts, offset);
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
  };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n|\n|\r/g)) starts.push(index + end.length);
  return starts;
}

/** Returns the last line that begins at or before `offset`, counted from 0. */
function lineOf(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
