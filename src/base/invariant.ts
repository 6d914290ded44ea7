// Checks internal invariants. A failure is a bug of Treeline, never of its input.

/** Throws with `message` unless `condition` holds. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}
