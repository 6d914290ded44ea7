// What people do about the controller itself: see what is held and wrong, approve, suspend, adopt, try again.
// docs/rest.md, operations.
import type { Client } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { HoldKind } from '../model/recorded.ts';

/** Something that does not happen before a person says yes. */
export interface HeldItem {
  readonly kind: HoldKind;
  /** What an approval names. */
  readonly digest: string;
  /** Null where it concerns a whole commit. */
  readonly instance: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** Names of the servers that would be deleted or replaced, or whose update failed; sorted. */
  readonly resources: readonly string[];
}

/** Which servers an operation is for: exactly one of these. */
export type Target =
  | { readonly instance: string }
  | { readonly resource: string }
  | { readonly provider: string }
  | { readonly all: true };

/** Who asks for an operation, and why. */
export interface Order {
  readonly by: Client;
  /** Kept with what it causes; may be empty. */
  readonly reason: string;
}

/**
 * Every operation is durable when it resolves, and answers with a sentence for a person. All throw ServiceError:
 * `not_ready` before the first good commit, `not_found` for what is not there, `conflict` where there is nothing to do.
 */
export interface Operator {
  held(): readonly HeldItem[];
  /** What is wrong with the newest commit, followed or not; with the followed one where the newest was not looked into. */
  problems(): { readonly commit: string; readonly problems: readonly Problem[] };
  /** Lets happen what is held under a digest. */
  approve(order: Order, digest: string): Promise<string>;
  /** Follows a rewritten history, at exactly this commit. */
  acceptHistory(order: Order, commit: string): Promise<string>;
  /** Starts no action of an instance, or of any where it is null, until somebody resumes or until a time (RFC 3339). */
  suspend(order: Order, what: { readonly instance: string | null; readonly until: string | null }): Promise<string>;
  resume(order: Order, instance: string | null): Promise<string>;
  /** Ends the waits of servers that failed. */
  retry(order: Order, target: Target): Promise<string>;
  /** Takes over servers that were there before Treeline; never deletes or replaces one. */
  adopt(order: Order, target: Target): Promise<string>;
}
