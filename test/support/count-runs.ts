// How often a property is tried: a fifth of it in `npm test`, all of it in `npm run test:long`, which runs each file that imports
// this one.

/** Returns how often a property is tried, of the number that is worth trying. */
export function countRuns(whole: number): number {
  return process.env.PROPERTY_RUNS === 'all' ? whole : Math.ceil(whole / 5);
}
