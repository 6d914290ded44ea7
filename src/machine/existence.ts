// Tells whether something that Treeline made may exist under a server's name.
import type { ServerRow } from '../model/rows.ts';

/** Returns true where Treeline made or adopted the server, or began to make it and no check has found it absent since. */
export function mayBeThere({ applied, mayExist }: ServerRow): boolean {
  return applied !== null || mayExist;
}
