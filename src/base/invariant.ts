// Checks internal invariants. A failure is a bug of Treeline, never of its input.

/** Throws with `message` unless `condition` is true. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
