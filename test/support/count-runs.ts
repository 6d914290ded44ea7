// How much of what has many cases is tried: of a property a tenth, of two tables a part of the pairs in `npm test`, and all of it in
// `npm run test:long`, which runs each file that imports this one.
import { it } from 'vitest';

const IS_WHOLE = process.env.PROPERTY_RUNS === 'all';

/** A test that takes long, and whose rule a quicker test judges too: it is there only in `npm run test:long`. */
export const itInFull: (name: string, run: () => Promise<void>, timeoutMs?: number) => void = IS_WHOLE
  ? it
  : () => undefined;

/** Returns how often a property is tried, of the number that is worth trying. */
export function countRuns(whole: number): number {
  return IS_WHOLE ? whole : Math.ceil(whole / 10);
}

/**
 * Returns the cases of a table that are tried beside the row `row` of another table: one of them in `npm test`, another for
 * each row, so that each case meets some rows; all of them in `npm run test:long`.
 */
export function pickCases<Case>(cases: readonly Case[], row: number): readonly Case[] {
  return IS_WHOLE ? cases : cases.filter((_, index) => index === row % cases.length);
}
