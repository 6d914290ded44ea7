// What expansion answers; expand-stack.ts makes it.
import type { ExpandedServer } from '../model/expanded.ts';
import type { Problem } from '../model/problem.ts';

export interface Expansion {
  /** Resource keys in the order of the amended template; also those that make no server now. */
  readonly keys: readonly string[];
  /** In the order of keys and indexes. Not to be used when `problems` holds an error. */
  readonly servers: readonly ExpandedServer[];
  readonly problems: readonly Problem[];
}
