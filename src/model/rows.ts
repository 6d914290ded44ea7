// Defines the rows of the store. Git holds the desired state; the rows hold Treeline's actions on it and facts that Git
// does not hold.
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
  /** Where it was followed. */
  readonly place: FollowedPlace;
}

/** What the settings name as `repository`: what is recorded belongs to it. */
export interface FollowedPlace {
  /** Without a password. */
  readonly url: string;
  readonly branch: string;
  /** Where the layout is in the repository; `.` is its root. */
  readonly directory: string;
}

/** A file as it was read, kept in case Git's newest commit has another version of it, or none. */
export interface Document {
  readonly path: string;
  readonly oid: string;
  /** The checked object. */
  readonly object: JsonMap;
}

/**
 * What is recorded may not be what was done, so no action starts until an operator resumes. There is at most one, named
 * `recovery`. docs/decisions/0006-recovery.md.
 */
export interface RecoveryRow {
  /** Names it when it is resumed. */
  readonly id: string;
  /**
   * `store`: rows were lost. `repository`: the followed commit cannot be derived, or the settings name another place.
   */
  readonly cause: 'store' | 'repository';
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** Until then, an action may run that is not recorded; RFC 3339, with milliseconds. */
  readonly notBefore: string;
}

/**
 * An object whose newest version is not active, under `<type>/<name>`: pinned to the last commit in which it was valid.
 * Most repositories have none of these.
 */
export interface PinnedRow extends Document {
  /** Null: a new object without a valid version, so that none is active. */
  readonly commit: string | null;
  /** What counts if the instance loses servers; omitted: what its active version says. */
  readonly loss?: LossPolicy;
}

/** The protection and the retention that count if an instance loses servers. */
export interface LossPolicy extends Pick<ServerPolicy, 'protected' | 'deletion'> {
  /** Why its deletes wait for approval whatever the budget; omitted: they do not. */
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
  /** Over the servers to be removed and their incarnations: an approval names it. */
  readonly digest: string;
  /** Names of the servers that would be deleted or replaced, sorted. */
  readonly servers: readonly string[];
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** The followed commit with which it began to be held. */
  readonly commit: string;
  /**
   * The servers may be meant for an invalid instance, or to be protected or retained; omitted if only the budget holds
   * them.
   */
  readonly isHandOver?: boolean;
}

/** An operator's approval of a hold, named after its digest. Removed once it is used. */
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
 * runs and for an hour after.
 */
export interface RemovalRow {
  /** When it ended, or else last began; RFC 3339, with milliseconds. */
  readonly time: string;
}

/** A suspended instance, of which no action starts, named after it; `*` is every instance. */
export interface SuspensionRow {
  readonly by: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** When it ends by itself, RFC 3339; null: when an operator resumes it. */
  readonly until: string | null;
}

/** The known causes of an instance, which notify nobody until a time; named after the instance. */
export interface AcknowledgementRow {
  /** Serial of the client; null for the machine's own operator. */
  readonly by: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** When it ends by itself; RFC 3339. */
  readonly until: string;
  /**
   * The ids of the attention items that concerned the instance then. An id goes when its cause ends, and the row goes
   * with the last id.
   */
  readonly causes: readonly string[];
}

/** Number of servers that a followed commit updates; named after the commit. */
export interface RolloutRow {
  readonly updates: number;
}

/** How many servers and records a commit changes. */
export interface CommitCounts {
  readonly created: number;
  readonly updated: number;
  /** Servers that could not be updated: they were deleted and created again. Not among `updated`. */
  readonly replaced: number;
  readonly deleted: number;
  /** Nodes whose record changes, without created and deleted servers. */
  readonly records: number;
}

/** A client's approval of what a commit asks for. */
export interface CommitApproval extends Pick<ApprovalRow, 'by' | 'reason' | 'time'> {
  readonly instance: string | null;
  /** The first 1,000 servers that it lets go. */
  readonly servers: readonly string[];
}

/** A commit of the branch that was judged, named after the commit. The newest 1,000 are kept. */
export interface CommitRow {
  /** `pending`: the whole commit waits for an approval. */
  readonly state: 'followed' | 'refused' | 'pending';
  /** When it came into this state; RFC 3339, with milliseconds. */
  readonly time: string;
  readonly subject: string;
  readonly author: string;
  /** Committer time, RFC 3339. */
  readonly committed: string;
  /** Who signed it, if signatures are checked; null: not known. */
  readonly signature: string | null;
  /** The commit that was followed before it; null: none was. */
  readonly base: string | null;
  /** Why it is refused or pending; null for a followed one. */
  readonly reason: string | null;
  /** By instance, at most 100 of them; under the empty name, those of hand-written clientcerts and of other instances. */
  readonly counts: Readonly<Record<string, CommitCounts>>;
  /** When no server of it was left to change; null: some are, or it is not followed. */
  readonly done: string | null;
  /** Oldest first. */
  readonly approvals: readonly CommitApproval[];
}

/** A commit status as forges show it. `superseded`: newer commits ended it before it was done. */
export interface CommitStatus {
  readonly state: 'in progress' | 'success' | 'failure' | 'superseded';
  /** At most 140 characters. */
  readonly description: string;
}

/**
 * The statuses of a commit that the forge accepted last, named after the commit. Kept while the forge should show
 * another one.
 */
export interface CommitStatusRow {
  /** Null: none was accepted. */
  readonly validate: CommitStatus | null;
  readonly apply: CommitStatus | null;
  /** The forge, the project and the name of the controller: what was sent elsewhere does not count. */
  readonly sentTo: string;
}

/** A hand-written clientcert: when its content last changed. */
export interface NodeRow {
  readonly oid: string;
  /** RFC 3339. */
  readonly updated: string;
}

/**
 * When a registered client was seen last, and the dates of the certificate that it has shown; RFC 3339. Named after its
 * serial.
 */
export interface SeenRow {
  /** An hour old at most while the client asks again and again. */
  readonly lastSeen: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

/** Result of applying the record of a node, as reported by its consumer; `noop`: it was not to change anything. */
export const APPLY_OUTCOMES = ['applied', 'failed', 'noop'] as const;
/** See {@link APPLY_OUTCOMES}. */
export type ApplyOutcome = (typeof APPLY_OUTCOMES)[number];

/** The last confirmation of the record of a node, named after the node. */
export interface DeliveryRow {
  /** Digest of the record, as in its ETag. */
  readonly digest: string;
  /** The followed commit at that time; null if the record was an older one than that of the commit. */
  readonly commit: string | null;
  /** That of the server; 0 for a hand-written clientcert. */
  readonly incarnation: number;
  readonly outcome: ApplyOutcome;
  readonly message: string;
  /** Serial of the client. */
  readonly by: string;
  /** RFC 3339, with milliseconds: the time of the first of several identical confirmations. */
  readonly time: string;
}

/** The reason for which a server does not progress. Programs read the code; docs/operate.md lists the codes. */
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
  /** SHA-256 of the lease, hexadecimal: the lease itself is known to the proxy only. */
  readonly lease: string;
  /** Serial of the client. */
  readonly client: string;
}

/**
 * When an action whose outcome was lost can no longer be running. The server is not checked before that.
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
  /** The rule of its provider, whatever the entry of that name is by now. */
  readonly ends?: LostActionEnds;
  /** An operator approved this delete: it never counts, whatever is wanted now. Omitted otherwise. */
  readonly isApproved?: boolean;
  /** The first create after the delete of a replacement, which a check has confirmed. Omitted otherwise. */
  readonly isRebuild?: true;
  /** Set for an action that a proxy carries out; omitted otherwise. */
  readonly claim?: ProxyClaim;
}

/** Where a program looked when it last answered for a server. */
export interface ServerPlace {
  readonly name: string;
  /** The provider entry that asked. */
  readonly provider: string;
  /** The proxy tags of the server that the proxy which looked has itself; omitted if no proxy did. */
  readonly tags?: readonly string[];
  /** That of the proxy, where one has said it. */
  readonly entry?: string;
}

/** One server: its record and its job in one. Named after the server. */
export interface ServerRow extends ServerPosition {
  readonly state: State;
  /** The reason for which it does not progress; null if the state alone explains it. */
  readonly reason: Reason | null;
  /** When it entered this state; RFC 3339, with milliseconds. */
  readonly since: string;
  /** The followed commit that last changed its wanted spec. */
  readonly commit: string;
  /** Incremented whenever the wanted spec changes. */
  readonly generation: number;
  /**
   * The incarnation of the server, incremented when one has ended. Starts from the clock, so that a name which is given
   * up and used again years later is not mistaken for the old server.
   */
  readonly incarnation: number;
  /** Null: unwanted. */
  readonly wanted: Spec | null;
  /** The spec that the last success applied. Null: no server exists that Treeline created or adopted. */
  readonly applied: Spec | null;
  /** An operator approved its delete or replacement: it does not count against the budget. */
  readonly approved: boolean;
  /** An operator asked to adopt it. */
  readonly adopting: boolean;
  /** A check has determined whether it exists, also since its last create has failed. Until then no other step runs. */
  readonly checked: boolean;
  /**
   * A create began, of this incarnation or before a backup was restored, and has not been shown to leave nothing: the
   * server that a check finds may be Treeline's own. Valid only if `applied` is null.
   */
  readonly mayExist: boolean;
  /** The running action; in the state `unknown`, the one whose outcome was lost. */
  readonly action: RunningAction | null;
  /**
   * An update or delete began after `applied` was recorded and has not succeeded: the server may match neither spec.
   */
  readonly dirty: boolean;
  /**
   * It is deleted and created again, since the provider reported that it cannot be updated, or it was found gone. Until
   * then it counts as away in its group. Never set for an unwanted server.
   */
  readonly replacing: boolean;
  /** Failed tries of the current step. */
  readonly attempt: number;
  /**
   * It gave up on its wanted spec, and has not succeeded since. While it waits for its next try, it still counts as
   * failed.
   */
  readonly gaveUp: boolean;
  /** The generation for which an operator has it continue without waiting for other servers. Omitted: for none. */
  readonly ignoresOrder?: number;
  /** When its wait ends: the next try, RFC 3339 with milliseconds. Null: it waits for no time. */
  readonly due: string | null;
  /** The provider entry that was asked to create it and is responsible for it since. Null: none was asked. */
  readonly provider: string | null;
  /**
   * Its site: those of its proxy tags that the proxy which made or adopted it last had itself. They count while
   * `provider` is that of proxies.
   */
  readonly proxyTags?: readonly string[];
  /** Omitted where no answer has named one. */
  readonly place?: ServerPlace;
  readonly outputs: JsonMap;
  /**
   * The values of the last check that differ from the wanted ones, by property, long ones shortened; null: it was gone.
   * Omitted where no difference is known, and once an action has begun that corrects it.
   */
  readonly observed?: JsonMap | null;
  /**
   * When healing began for each property within the last 24 hours, RFC 3339 with milliseconds; under the empty name,
   * for the server that was gone. Omitted if there was none.
   */
  readonly healing?: Readonly<Record<string, readonly string[]>>;
  /**
   * When changed outputs of others started an update of it, within the last 24 hours; RFC 3339 with milliseconds.
   * Omitted if none did.
   */
  readonly rereads?: readonly string[];
  /** `last_stack_update` of its record, RFC 3339. */
  readonly updated: string;
  /** Its last record, kept while it is unwanted and not gone. */
  readonly lastRecord: ExplainedRecord | null;
}

/**
 * Something that subscribers should know, and what each of them has accepted of it; ARCHITECTURE.md, "Events and
 * messages".
 */
export interface AlertRow {
  readonly kind: NotificationKind;
  readonly instances: readonly string[];
  /** When it began, RFC 3339 with milliseconds. */
  readonly since: string;
  /** When it was over; null: it lasts. */
  readonly until: string | null;
  /** The data of its events. */
  readonly data: JsonMap;
  /** The event that a subscriber accepted last, by the name of the subscriber. */
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
     * The value that was read before deciding: the same object that `read` returned, or undefined if there was none.
     */
    readonly expected: Rows[Kind] | undefined;
  };
}[RowKind];
