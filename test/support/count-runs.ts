// How much of what has many cases is tried: of a property a fifth, of two tables some pairs in `npm test`, and all of it in
// `npm run test:long`, which runs each file that imports this one.

/** Returns how often a property is tried, of the number that is worth trying. */
export function countRuns(whole: number): number {
  return process.env.PROPERTY_RUNS === 'all' ? whole : Math.ceil(whole / 5);
}

/**
 * Returns the cases of a table that are tried beside the row `row` of another table: two of them in `npm test`, others for
 * each row, so that each case meets some rows and each row some cases; all of them in `npm run test:long`.
 */
export function pickCases<Case>(cases: readonly Case[], row: number): readonly Case[] {
  if (process.env.PROPERTY_RUNS === 'all') return cases;
  const half = Math.floor(cases.length / 2);
  return cases.filter((_, index) => (index - row) % half === 0);
}
