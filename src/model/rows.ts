// What the store keeps. Git holds what is wanted; these rows hold what Treeline did about it and what Git cannot tell.
import type { JsonMap } from './json.ts';
import type { ExplainedRecord } from './record.ts';
import type { ServerPolicy, Spec } from './spec.ts';
import type { Operation, State } from './state.ts';

/** The commit that is followed. One row, named `head`. */
export interface HeadRow {
  readonly commit: string;
  /** Committer time, RFC 3339. */
  readonly time: string;
}

/** A file as it was read, for when Git's newest commit has another version of it, or none. */
export interface Document {
  readonly path: string;
  readonly oid: string;
  /** The checked object. */
  readonly object: JsonMap;
}

/**
 * An object whose newest version is not in force, under `<type>/<name>`: kept at the last commit where it was right.
 * Most repositories have none of these.
 */
export interface PinnedRow extends Document {
  /** Null: a newcomer that has no right version yet, so that nothing of it is in force. */
  readonly commit: string | null;
}

/**
 * The document of an instance or a client that is active, under `<type>/<name>`: what has to be known of it where Git lost
 * the commit that it comes from.
 */
export type ActiveRow = Document;

/** An instance that no commit wants any more and whose servers are not gone yet. Its file may not exist now. */
export type TerminatingRow = Document;

/** Why something does not happen before a person says yes. */
export type HoldKind = 'deletes' | 'nothing left' | 'history' | 'failures';

/** An instance that is held whole until a person approves what would be deleted. Named after the instance. */
export interface HeldRow {
  /** Over the servers that would go and their incarnations: an approval names it. */
  readonly digest: string;
  /** Names of the servers that would be deleted or replaced, sorted. */
  readonly servers: readonly string[];
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** It was protected until a commit lifted that; left out where it was not. */
  readonly isLifted?: boolean;
  /** Names of other instances that were protected until a commit lifted that, and that wait for this one; left out where there are none. */
  readonly lifts?: readonly string[];
  /** They may be meant for an instance that is wrong; left out where the budget alone holds them. */
  readonly isHandOver?: boolean;
}

/** A person said yes to something that is held, named after its digest. Gone once it has been made use of. */
export interface ApprovalRow {
  readonly what: HoldKind | 'requested delete';
  /** Serial of the client; null for the machine's own operator. */
  readonly by: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly time: string;
}

/**
 * A delete, or the delete of a replacement, that began without approval, under `<server>/<incarnation>`. Kept while it
 * runs and for an hour.
 */
export interface RemovalRow {
  /** When it ended, or began last; RFC 3339, with milliseconds. */
  readonly time: string;
}

/** An instance of which no action starts, named after it; `*` is every instance. */
export interface SuspensionRow {
  readonly by: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** When it ends by itself, RFC 3339; null: when somebody resumes. */
  readonly until: string | null;
}

/** How many servers a followed commit wanted to be updated; named after the commit. */
export interface RolloutRow {
  readonly updates: number;
}

/** A hand-written clientcert: when its content last changed. */
export interface NodeRow {
  readonly oid: string;
  /** RFC 3339. */
  readonly updated: string;
}

/** Why a server is not further. Programs go by the code; docs/rest.md lists the codes. */
export interface Reason {
  readonly code: ReasonCode;
  /** For a person. */
  readonly text: string;
}

export type ReasonCode =
  | 'exists_already'
  | 'no_provider'
  | 'provider_changed'
  | 'protected'
  | 'outcome_lost'
  | 'action_failed'
  | 'check_failed'
  | 'circle_broken'
  | 'must_replace'
  | 'drifted';

/** An action that was decided and has not been concluded. Written before the provider is called. */
export interface RunningAction {
  /** The same for the same step of the same building of the server, so that a repeated call can be recognised. */
  readonly id: string;
  readonly operation: Exclude<Operation, 'check'>;
  /** What the action brings about; null for a delete. */
  readonly spec: Spec | null;
  readonly provider: string;
  /** RFC 3339, with milliseconds. */
  readonly started: string;
  readonly deadline: string;
  /** A delete that a person has approved: it never counts, whatever is wanted by now. Left out where nobody has. */
  readonly isApproved?: boolean;
}

/** One server: its record is also its job. Named after the server. */
export interface ServerRow {
  readonly instance: string;
  readonly key: string;
  readonly index: string | null;
  readonly policy: ServerPolicy;
  readonly state: State;
  /** Why it is not further; null where the state says all. */
  readonly reason: Reason | null;
  /** Since when it is in this state; RFC 3339, with milliseconds. */
  readonly since: string;
  /** The followed commit that changed last what is wanted of it. */
  readonly commit: string;
  /** Raised whenever what is wanted changes. */
  readonly generation: number;
  /**
   * Which building of the server: raised when one has ended. Starts from the clock, so that a name that is given up and
   * taken again years later is not mistaken for the old server.
   */
  readonly incarnation: number;
  /** Null: unwanted. */
  readonly wanted: Spec | null;
  /** What the last success left. Null: nothing is there that Treeline made or adopted. */
  readonly applied: Spec | null;
  /** A person approved that it is deleted or replaced: it does not count against the budget. */
  readonly approved: boolean;
  /** A person asked to adopt it. */
  readonly adopting: boolean;
  /** A check has told whether it is there. Until then nothing else is done to it. */
  readonly checked: boolean;
  /**
   * A create of this incarnation began, and nothing has shown since that it left nothing: what a check finds may be
   * Treeline's own. Means something only where `applied` is null.
   */
  readonly mayExist: boolean;
  /** The running action; in the state `unknown`, the one whose outcome was lost. */
  readonly action: RunningAction | null;
  /** An update or delete began after `applied` was recorded and has not succeeded: what is there may be neither. */
  readonly dirty: boolean;
  /**
   * It is deleted and created anew, since the provider said that it cannot be updated; or it was found gone. Until that
   * is through, its group misses it. Never where it is unwanted.
   */
  readonly replacing: boolean;
  /** Tries of the present step that did not succeed. */
  readonly attempt: number;
  /** It gave up on what is wanted of it, and has not succeeded since. Waiting for its next try, it still counts as failed. */
  readonly gaveUp: boolean;
  /** When a wait ends: the next try, RFC 3339 with milliseconds. Null: it waits for no time. */
  readonly due: string | null;
  /** The provider entry that was told to make it; that one also changes and deletes it. Null: none was ever told. */
  readonly provider: string | null;
  readonly outputs: JsonMap;
  /** `last_stack_update` of its record, RFC 3339. */
  readonly updated: string;
  /** Its last record, kept from the moment no commit wants it until it is gone. */
  readonly lastRecord: ExplainedRecord | null;
}

export interface Rows {
  readonly head: HeadRow;
  readonly pinned: PinnedRow;
  readonly active: ActiveRow;
  readonly terminating: TerminatingRow;
  readonly node: NodeRow;
  readonly held: HeldRow;
  readonly approval: ApprovalRow;
  readonly removal: RemovalRow;
  readonly suspension: SuspensionRow;
  readonly rollout: RolloutRow;
  readonly server: ServerRow;
}
export type RowKind = keyof Rows;

/** One row to write, or to remove where `value` is null. */
export type Change = {
  readonly [Kind in RowKind]: {
    readonly kind: Kind;
    readonly name: string;
    readonly value: Rows[Kind] | null;
    /** What was read before deciding: the very value that `read` gave, or undefined where there was none. */
    readonly expected: Rows[Kind] | undefined;
  };
}[RowKind];
