// Defines the outputs of servers that have none: one empty map, which the rows of all of them share.
import type { JsonMap } from './json.ts';

/** No outputs. */
export const NO_OUTPUTS: JsonMap = Object.freeze({});

/** Returns these outputs, or {@link NO_OUTPUTS} if they are empty: most servers have none, and a map of its own for each takes memory. */
export function sharedOutputs(outputs: JsonMap): JsonMap {
  return Object.keys(outputs).length === 0 ? NO_OUTPUTS : outputs;
}
