// Defines the newest commit if it is not followed: invalid as a whole, or held until a person accepts it.
import type { Problem } from '../model/problem.ts';
import type { HoldKind } from '../model/rows.ts';

/** A commit that is not followed, and the reasons. */
export interface RefusedCommit {
  readonly commit: string;
  /** Null: the commit is invalid, and only another commit helps. Else a person may accept it under `digest`. */
  readonly hold: { readonly kind: HoldKind; readonly digest: string } | null;
  readonly reason: string;
  readonly problems: readonly Problem[];
  /** RFC 3339, with milliseconds. */
  readonly since: string;
}
