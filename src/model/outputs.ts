// Defines the outputs of a server that has none, which all its rows share.
import type { JsonMap } from './json.ts';

/** No outputs. */
export const NO_OUTPUTS: JsonMap = Object.freeze({});

/** Returns these outputs, or {@link NO_OUTPUTS} if they are empty: most servers have none, and a map of its own for each takes memory. */
export function sharedOutputs(outputs: JsonMap): JsonMap {
  return Object.keys(outputs).length === 0 ? NO_OUTPUTS : outputs;
}
