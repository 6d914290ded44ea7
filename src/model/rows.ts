// Defines the rows of the store. Git has the desired state; the rows have Treeline's actions and other facts.
import type { JsonMap } from './json.ts';
import type { ExplainedRecord } from './record.ts';
import type { NotificationKind } from './settings.ts';
import type { ServerPolicy, ServerPosition, Spec } from './spec.ts';
import type { Operation, State } from './state.ts';

/** The followed commit. One row, named `head`. */
export interface HeadRow {
  readonly commit: string;
  /** Committer time, RFC 3339. */
  readonly time: string;
  /** The repository and branch in which it was followed. */
  readonly place: FollowedPlace;
}

/** The repository of the settings. The recorded rows belong to it. */
export interface FollowedPlace {
  /** Contains no password. */
  readonly url: string;
  readonly branch: string;
  /** Where the layout is in the repository; `.` is its root. */
  readonly directory: string;
}

/** A file as it was read, kept because the newest commit may have another version of it, or none. */
export interface Document {
  readonly path: string;
  readonly oid: string;
  /** The checked object. */
  readonly object: JsonMap;
}

/**
 * The rows may differ from what was done, so no action starts until an operator resumes. At most one row, named
 * `recovery`. docs/decisions/0006-recovery.md.
 */
export interface RecoveryRow {
  /** The id by which an operator resumes it. */
  readonly id: string;
  /**
   * `store`: rows were lost. `repository`: the followed commit cannot be derived, or the settings name another place.
   */
  readonly cause: 'store' | 'repository';
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** Until then, an unrecorded action may run; RFC 3339, with milliseconds. */
  readonly notBefore: string;
}

/**
 * An object whose newest version is not active, under `<type>/<name>`. It is pinned to the last commit in which it was
 * valid. Most repositories have no such row.
 */
export interface PinnedRow extends Document {
  /** Null for a new object without a valid version, so that no version is active. */
  readonly commit: string | null;
  /** The policy if the instance loses servers; omitted: that of its active version. */
  readonly loss?: LossPolicy;
}

/** The protection and retention that apply if an instance loses servers. */
export interface LossPolicy extends Pick<ServerPolicy, 'protected' | 'deletion'> {
  /** Why its deletes need approval even within the budget; omitted if they do not. */
  readonly hold?: string;
}

/** An unwanted instance whose servers are not all gone yet. Its file may not exist any more. */
export type TerminatingRow = Document;

/** The kinds of holds that wait for an operator's approval. */
export const HOLD_KINDS = ['deletes', 'unreadable', 'nothing left', 'history', 'failures'] as const;
/** A kind of hold. */
export type HoldKind = (typeof HOLD_KINDS)[number];

/** An instance that is held whole until an operator approves its deletes. Named after the instance. */
export interface HeldRow {
  /** Digest of the servers to be removed and their incarnations. An approval names it. */
  readonly digest: string;
  /** Names of the servers that would be deleted or replaced, sorted. */
  readonly servers: readonly string[];
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** The followed commit that caused the hold. */
  readonly commit: string;
  /**
   * The servers may be meant for an invalid instance, or may be protected or retained. Omitted if only the budget holds
   * them.
   */
  readonly isHandOver?: boolean;
}

/** An operator's approval of a hold, named after its digest. Removed once it is used. */
export interface ApprovalRow {
  readonly what: HoldKind | 'requested delete';
  /** Serial of the client; null for the operator of the machine itself. */
  readonly by: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly time: string;
}

/**
 * A delete that began without approval, possibly of a replacement, under `<server>/<incarnation>`. Kept while it runs
 * and for an hour after.
 */
export interface RemovalRow {
  /** When it ended, else when it last began; RFC 3339, with milliseconds. */
  readonly time: string;
}

/** A suspended instance, whose actions do not start. Named after the instance; `*` is every instance. */
export interface SuspensionRow {
  readonly by: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** When it ends, RFC 3339; null: when an operator resumes it. */
  readonly until: string | null;
}

/** The acknowledged causes of an instance, which send no notifications until a time; named after the instance. */
export interface AcknowledgementRow {
  /** Serial of the client; null for the operator of the machine itself. */
  readonly by: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** When it ends; RFC 3339. */
  readonly until: string;
  /**
   * The ids of the attention items of the instance at that time. An id is removed when its cause ends, and the row with
   * the last id.
   */
  readonly causes: readonly string[];
}

/** The number of servers that a followed commit updates; named after the commit. */
export interface RolloutRow {
  readonly updates: number;
}

/** How many servers and records a commit changes. */
export interface CommitCounts {
  readonly created: number;
  readonly updated: number;
  /** Servers that are deleted and created again because they cannot be updated. Not included in `updated`. */
  readonly replaced: number;
  readonly deleted: number;
  /** Nodes whose record changes, without created and deleted servers. */
  readonly records: number;
}

/** A client's approval of a hold that a commit caused. */
export interface CommitApproval extends Pick<ApprovalRow, 'by' | 'reason' | 'time'> {
  readonly instance: string | null;
  /** The first 1,000 servers that it allows to be removed. */
  readonly servers: readonly string[];
}

/** A judged commit of the branch, named after the commit. The newest 1,000 are kept. */
export interface CommitRow {
  /** `pending`: the whole commit waits for an approval. */
  readonly state: 'followed' | 'refused' | 'pending';
  /** When it entered this state; RFC 3339, with milliseconds. */
  readonly time: string;
  readonly subject: string;
  readonly author: string;
  /** Committer time, RFC 3339. */
  readonly committed: string;
  /** The signer, if signatures are checked; null if not known. */
  readonly signature: string | null;
  /** The commit that was followed before it; null if there was none. */
  readonly base: string | null;
  /** Why it is refused or pending; null if it is followed. */
  readonly reason: string | null;
  /** By instance, at most 100. The empty name has the counts of hand-written clientcerts and all other instances. */
  readonly counts: Readonly<Record<string, CommitCounts>>;
  /** When its last server was changed; null if some are not, or if the commit is not followed. */
  readonly done: string | null;
  /** Oldest first. */
  readonly approvals: readonly CommitApproval[];
}

/** A commit status as forges show it. `superseded`: a newer commit replaced it before it was done. */
export interface CommitStatus {
  readonly state: 'in progress' | 'success' | 'failure' | 'superseded';
  /** At most 140 characters. */
  readonly description: string;
}

/**
 * The last statuses of a commit that the forge accepted, named after the commit. Kept while the forge should show
 * another one.
 */
export interface CommitStatusRow {
  /** Null if none was accepted. */
  readonly validate: CommitStatus | null;
  readonly apply: CommitStatus | null;
  /** The forge, the project and the name of the controller. Statuses that were sent elsewhere do not count. */
  readonly sentTo: string;
}

/** A hand-written clientcert: when its content last changed. */
export interface NodeRow {
  readonly oid: string;
  /** RFC 3339. */
  readonly updated: string;
}

/** When a registered client was last seen, and the dates of its certificate; RFC 3339. Named after its serial. */
export interface SeenRow {
  /** At most an hour old while the client keeps sending requests. */
  readonly lastSeen: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

/** The result of applying the record of a node, as reported by its consumer. `noop`: a run without changes. */
export const APPLY_OUTCOMES = ['applied', 'failed', 'noop'] as const;
/** See {@link APPLY_OUTCOMES}. */
export type ApplyOutcome = (typeof APPLY_OUTCOMES)[number];

/** The last confirmation of the record of a node, named after the node. */
export interface DeliveryRow {
  /** Digest of the record, as in its ETag. */
  readonly digest: string;
  /** The followed commit at that time; null if the record was older than that of the commit. */
  readonly commit: string | null;
  /** The server's incarnation; 0 for a hand-written clientcert. */
  readonly incarnation: number;
  readonly outcome: ApplyOutcome;
  readonly message: string;
  /** Serial of the client. */
  readonly by: string;
  /** RFC 3339, with milliseconds: the time of the first of several identical confirmations. */
  readonly time: string;
}

/** The reason why a server does not progress. Programs read the code; docs/operate.md lists the codes. */
export interface Reason {
  readonly code: ReasonCode;
  /** For an operator. */
  readonly text: string;
  /** Of `no_proxy`: the proxy tags of the server, sorted. Omitted otherwise. */
  readonly tags?: readonly string[];
}

/** The codes of reasons; docs/operate.md describes each. */
export const REASON_CODES = [
  'exists_already',
  'no_provider',
  'no_proxy',
  'provider_changed',
  'protected',
  'outcome_lost',
  'action_failed',
  'check_failed',
  'must_replace',
  'drifted',
  'drift_fight',
  'no_output',
  'output_fight',
  'many_gone',
] as const;
/** The code of a reason. */
export type ReasonCode = (typeof REASON_CODES)[number];

/** The proxy that carries out an action. */
export interface ProxyClaim {
  /** SHA-256 of the lease, hexadecimal. Only the proxy knows the lease itself. */
  readonly lease: string;
  /** Serial of the client. */
  readonly client: string;
}

/**
 * When an action whose outcome was lost must have ended. The server is not checked before that.
 * - with the controller: with the end of the process that calls the provider.
 * - with its call: once its provider is certain that nothing of the call runs any more; otherwise after its deadline.
 * - after its deadline: the grace time after the deadline.
 */
export type LostActionEnds = 'with the controller' | 'with its call' | 'after its deadline';

/** An action that was decided and is not concluded. Written before the provider is called. */
export interface RunningAction {
  /** Equal for the same step of the same incarnation of the server, so that a repeated call can be recognised. */
  readonly id: string;
  readonly operation: Exclude<Operation, 'check'>;
  /** The spec that the action applies; null for a delete. */
  readonly spec: Spec | null;
  readonly provider: string;
  /** RFC 3339, with milliseconds. */
  readonly started: string;
  readonly deadline: string;
  /** The rule of its provider, recorded because the entry of that name may change. */
  readonly ends?: LostActionEnds;
  /** An operator approved this delete, so it never counts, even if the wanted spec changes. Omitted otherwise. */
  readonly isApproved?: boolean;
  /** The first create of a replacement after a check has confirmed the delete. Omitted otherwise. */
  readonly isRebuild?: true;
  /** Set for an action that a proxy carries out; omitted otherwise. */
  readonly claim?: ProxyClaim;
}

/** Where a program looked when it last answered for a server. */
export interface ServerPlace {
  readonly name: string;
  /** The provider entry that asked. */
  readonly provider: string;
  /** The proxy tags of the server that the answering proxy also has; omitted if no proxy answered. */
  readonly tags?: readonly string[];
  /** The entry that the proxy named, if any. */
  readonly entry?: string;
}

/** One server: its state and its job in one. Named after the server. */
export interface ServerRow extends ServerPosition {
  readonly state: State;
  /** The reason why it does not progress; null if the state alone explains it. */
  readonly reason: Reason | null;
  /** When it entered this state; RFC 3339, with milliseconds. */
  readonly since: string;
  /** The followed commit that last changed its wanted spec. */
  readonly commit: string;
  /** Incremented whenever the wanted spec changes. */
  readonly generation: number;
  /**
   * The incarnation of the server, incremented when the server is gone. Starts from the clock, so that a server that
   * reuses a name years later is not mistaken for the old one.
   */
  readonly incarnation: number;
  /** Null: unwanted. */
  readonly wanted: Spec | null;
  /** The spec that the last success applied. Null: no server exists that Treeline created or adopted. */
  readonly applied: Spec | null;
  /** An operator approved its delete or replacement, so the budget does not count it. */
  readonly approved: boolean;
  /** An operator requested to adopt it. */
  readonly adopting: boolean;
  /** A check has determined whether it exists. False again after a failed create. Until a check, no other step runs. */
  readonly checked: boolean;
  /**
   * A create began, of this incarnation or before a backup was restored, and no check has found the server absent
   * since. So a server that a check finds may be Treeline's own. Valid only if `applied` is null.
   */
  readonly mayExist: boolean;
  /** The running action; in the state `unknown`, the one whose outcome was lost. */
  readonly action: RunningAction | null;
  /**
   * An update or delete began after `applied` was recorded and has not succeeded: the server may match neither spec.
   */
  readonly dirty: boolean;
  /**
   * It is deleted and created again, because the provider cannot update it or because it was found gone. Until it is
   * created it counts as away in its group. Never set for an unwanted server.
   */
  readonly replacing: boolean;
  /** Failed tries of the current step. */
  readonly attempt: number;
  /**
   * The wanted spec was given up and has not succeeded since. While the server waits for its next try, it counts as
   * failed.
   */
  readonly gaveUp: boolean;
  /** The generation for which an operator requested that it does not wait for other servers. Omitted: for none. */
  readonly ignoresOrder?: number;
  /** When the next try is due, RFC 3339 with milliseconds. Null: it waits for no time. */
  readonly due: string | null;
  /** The provider entry that was asked to create it and has been responsible since. Null: none was asked. */
  readonly provider: string | null;
  /**
   * Its site: the proxy tags that it shares with the proxy that last created or adopted it. Only valid if `provider` is
   * that of proxies.
   */
  readonly proxyTags?: readonly string[];
  /** Omitted if no answer has named a place. */
  readonly place?: ServerPlace;
  readonly outputs: JsonMap;
  /**
   * The observed values that differ from the wanted ones, by property, shortened; null: it was gone. Omitted if no
   * difference is known, and once an action that corrects it has begun.
   */
  readonly observed?: JsonMap | null;
  /**
   * The times within the last 24 hours when healing began, by property; the empty name is for a gone server. RFC 3339
   * with milliseconds. Omitted if there are none.
   */
  readonly healing?: Readonly<Record<string, readonly string[]>>;
  /**
   * The times within the last 24 hours when changed outputs started an update; RFC 3339 with milliseconds. Omitted if
   * there are none.
   */
  readonly rereads?: readonly string[];
  /** `last_stack_update` of its record, RFC 3339. */
  readonly updated: string;
  /** Its last record, kept while it is unwanted and not deleted yet. */
  readonly lastRecord: ExplainedRecord | null;
}

/**
 * A condition to notify subscribers of, and what each subscriber has accepted; ARCHITECTURE.md, "Events and messages".
 */
export interface AlertRow {
  readonly kind: NotificationKind;
  readonly instances: readonly string[];
  /** When it began, RFC 3339 with milliseconds. */
  readonly since: string;
  /** When it ended; null if it continues. */
  readonly until: string | null;
  /** The data of its events. */
  readonly data: JsonMap;
  /** The last event that each subscriber accepted, by the subscriber's name. */
  readonly accepted: Readonly<Record<string, 'firing' | 'resolved'>>;
}

/** One attempt to send an event to a subscriber. */
export interface NotificationRow {
  /** The name of the subscriber in the settings. */
  readonly target: string;
  /** The id of the event. */
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  /** When the event happened, RFC 3339 with milliseconds. */
  readonly time: string;
  readonly state: 'delivered' | 'refused';
  /** RFC 3339 with milliseconds. */
  readonly triedAt: string;
  /** The status of the answer, or why there was none. */
  readonly answer: string;
}

/** The kinds of rows, and the value of each. */
export interface Rows {
  readonly head: HeadRow;
  readonly recovery: RecoveryRow;
  readonly pinned: PinnedRow;
  readonly terminating: TerminatingRow;
  readonly node: NodeRow;
  readonly held: HeldRow;
  readonly approval: ApprovalRow;
  readonly removal: RemovalRow;
  readonly suspension: SuspensionRow;
  readonly acknowledgement: AcknowledgementRow;
  readonly rollout: RolloutRow;
  readonly commit: CommitRow;
  readonly commitStatus: CommitStatusRow;
  readonly seen: SeenRow;
  readonly delivery: DeliveryRow;
  readonly alert: AlertRow;
  readonly notification: NotificationRow;
  readonly server: ServerRow;
}
/** The kind of a row. */
export type RowKind = keyof Rows;

/** One row to write, or to remove if `value` is null. */
export type Change = {
  readonly [Kind in RowKind]: {
    readonly kind: Kind;
    readonly name: string;
    readonly value: Rows[Kind] | null;
    /**
     * The value on which the decision is based: the same object that `read` returned, or undefined if there was none.
     */
    readonly expected: Rows[Kind] | undefined;
  };
}[RowKind];
