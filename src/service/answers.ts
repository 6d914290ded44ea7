// Defines what operations are asked, and what they answer. See docs/rest.md, operations.
import type { InstanceEvent } from '../model/instance-event.ts';
import type { Json, JsonMap } from '../model/json.ts';
import type { Client } from '../model/objects.ts';
import type { DeliveryRow, HoldKind, NotificationRow, RecoveryRow, ServerRow } from '../model/rows.ts';
import type { DeliveryState, InstanceStatus, Operation, State } from '../model/state.ts';
import type { RecordedFacts } from '../plan/recorded-facts.ts';
import type { EntryCalls } from '../reconcile/checks/call-history.ts';
import type { Caller } from './caller.ts';

/** Something that does not happen before an operator says yes. */
export interface HeldItem {
  readonly kind: HoldKind;
  /** The digest that an approval names. */
  readonly digest: string;
  /** Null where it concerns a whole commit. */
  readonly instance: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** Names of the servers that would be deleted or replaced, or whose update failed; sorted. */
  readonly resources: readonly string[];
  /**
   * The commit that asks for it: the followed one with which it began to be held, or the one that is not followed.
   * Null: not known.
   */
  readonly commit: string | null;
  /** Of that commit. Null: not known, or the client does not see authors. */
  readonly author: string | null;
  /** What to do first, before an approval, where something is likely not meant. */
  readonly check?: string;
}

/** The number of servers in each state; states of no server are left out. */
export type StateCounts = Readonly<Partial<Record<State, number>>>;

/** One property in which a server differs from what is wanted. Long values are shortened. */
export interface PropertyDifference {
  readonly property: string;
  /** The value that the last action left; null: none. */
  readonly applied: Json;
  /** The value that the last check found. */
  readonly observed: Json;
  /** The value of the active commit; null: none, as the server is not wanted or the property is gone. */
  readonly wanted: Json;
}

/** Something that keeps an instance from being done. */
export interface WaitingItem {
  /** The server; null where it concerns the instance as a whole. */
  readonly resource: string | null;
  /**
   * The server's state; else the status that follows from it, that the newest commit is not followed, or that something
   * is away.
   */
  readonly state: State | InstanceStatus | 'Not followed' | 'Outage';
  /** The cause of the wait, for an operator. */
  readonly reason: string;
  /** RFC 3339, with milliseconds; null where it is not recorded. */
  readonly since: string | null;
  /** When it ends by itself or is tried again, RFC 3339 with milliseconds; null where that is not known. */
  readonly until: string | null;
  /** The advice: a command to type, or words; null where nothing has to be done. */
  readonly action: string | null;
  /** The properties in which the server differs from what is wanted; omitted where none is known. */
  readonly difference?: readonly PropertyDifference[];
}

/** Of several replicas: who leads, and whether the one that was asked shows what that one does. Omitted for proxies. */
export interface ReplicaFacts {
  /**
   * Null where no replica is known to lead. Then this is answered from what the asked one shows. Omitted where the
   * store is embedded.
   */
  readonly leader?: LeadingReplica | null;
  /** Why the replica that was asked shows an earlier moment than the leader. Omitted where it shows the present one. */
  readonly lag?: Outage;
}

/** A replica that leads. */
export interface LeadingReplica {
  readonly name: string;
  /** RFC 3339, with milliseconds, by the database's clock. */
  readonly since: string;
  /** Each leader's is greater than those before. */
  readonly fencing: number;
}

/** The reasons why an instance is not done. */
export interface Why extends ReplicaFacts {
  readonly status: InstanceStatus;
  /** One sentence: the first of `waiting`, or the server that it waits for in the end; or that all is done. */
  readonly summary: string;
  readonly counts: StateCounts;
  /** Items that need an operator come first. At most 1,000: `counts` has all. */
  readonly waiting: readonly WaitingItem[];
}

/** The newest commit, where it is not followed. */
export interface UnfollowedCommit {
  readonly commit: string;
  readonly reason: string;
  readonly since: string;
  readonly action: string;
}

/** Something outside that fails at the moment. */
export interface Outage {
  readonly reason: string;
  /** As this process has seen it, RFC 3339 with milliseconds. */
  readonly since: string;
}

/** Servers of an instance during a recovery, by what is known of them: names, sorted. Each is in one list. */
export interface RecoveredServers {
  /** Recorded, and as wanted. */
  readonly found: readonly string[];
  /** A check found another value, or nothing. */
  readonly drifted: readonly string[];
  /** An operator decides: adopt it, retain it, or correct what its reason says. */
  readonly waiting: readonly string[];
  /** No check has answered yet. */
  readonly unchecked: readonly string[];
  /** Absent: a resume creates it. */
  readonly create: readonly string[];
  /** A resume updates, replaces or deletes it, unless its instance is held. */
  readonly update: readonly string[];
  readonly replace: readonly string[];
  readonly delete: readonly string[];
}

/** What a recovery found of an instance. */
export interface RecoveredInstance extends RecoveredServers {
  readonly instance: string;
  /** Its deletes and replacements wait for an approval, also after a resume. */
  readonly isHeld: boolean;
}

/** What is recorded may not be what was done: no action starts until an operator resumes. */
export interface Recovery extends RecoveryRow {
  /** Sorted by name. */
  readonly instances: readonly RecoveredInstance[];
}

/** The recovery that is not over; null: there is none. */
export interface FoundRecovery {
  readonly recovery: Recovery | null;
}

/** The kinds of causes that need an operator, in the order in which they are listed. */
export const ATTENTION_KINDS = [
  'store',
  'leader',
  'recovery',
  'repository',
  'commit',
  'held',
  'gone',
  'provider',
  'proxies',
  'programs',
  'invalid',
  'cycle',
  'failed',
  'lost',
  'blocked',
  'drifted',
  'unchecked',
  'unapplied',
  'entry',
  'certificate',
  'replicas',
  'statuses',
  'notifications',
  'audit',
] as const;
/** The kind of a cause that needs an operator. */
export type AttentionKind = (typeof ATTENTION_KINDS)[number];

/** One cause that needs an operator, whatever the number of servers that it concerns. */
export interface Cause {
  /**
   * Stable while the cause lasts, also over restarts and on every replica: kind, colon, and what it is about, as
   * `held:shop`.
   */
  readonly id: string;
  readonly kind: AttentionKind;
  /** The instances concerned, sorted; empty if it concerns none in particular. */
  readonly instances: readonly string[];
  /** The number of servers concerned, and the first of their names; sorted. */
  readonly servers: { readonly count: number; readonly examples: readonly string[] };
  /** One sentence for an operator. */
  readonly reason: string;
  /** RFC 3339, with milliseconds; null if it is not recorded. */
  readonly since: string | null;
  /** The command that helps, or words; null if there is nothing to do but wait. */
  readonly action: string | null;
}

/** A cause as it is listed, with at most 100 instances. */
export interface AttentionItem extends Cause {
  /** Set if an operator acknowledged it for every instance concerned: it is listed last, and notifies nobody. */
  readonly acknowledged: { readonly by: string; readonly until: string; readonly reason: string } | null;
}

/** What needs an operator. */
export interface Attention {
  /** By kind, then by id; the acknowledged ones last. At most 1,000. */
  readonly attention: readonly AttentionItem[];
  /** The number of further items; omitted where there are none. */
  readonly attentionLeftOut?: number;
}

/** What fails beside the servers; what does not is omitted. */
export type Outages = Readonly<Partial<Record<OutageName, Outage | undefined>>>;
/**
 * The branch was not read by the last poll, or not copied here; nothing is saved; a program cannot be ended; new TLS files
 * cannot be used; replicas do not fit together; commit statuses are not sent; notifications are not delivered; the audit
 * log loses lines.
 */
export type OutageName =
  | 'repository'
  | 'store'
  | 'programs'
  | 'tls'
  | 'replicas'
  | 'statuses'
  | 'notifications'
  | 'audit';

/** The progress of all instances. */
export interface Overview extends ReplicaFacts, Attention {
  /** The followed commit. */
  readonly commit: string;
  /** Its author; null where that is not known. Omitted for proxies. */
  readonly author?: string | null;
  /** Null where that is the newest one. */
  readonly newest: UnfollowedCommit | null;
  readonly held: readonly HeldItem[];
  readonly counts: StateCounts;
  /** Committer time of the followed commit, RFC 3339. Omitted for proxies. */
  readonly committed?: string | null;
  /** Sorted by name. */
  readonly instances: readonly OverviewInstance[];
}

/** One instance of the overview. */
export interface OverviewInstance extends Omit<Why, 'waiting' | keyof ReplicaFacts> {
  readonly name: string;
  /** The folder of its file below `stacks/instances/`. Omitted if it is at the top, or has no file any more. */
  readonly folder?: string;
  /** Omitted if it has none. */
  readonly tenant?: string;
  /** The commit of its active version, if that is not the followed one. */
  readonly commit?: string;
}

/** A registered client. */
export interface ClientSeen extends Pick<Client, 'serial' | 'role' | 'description' | 'tenant'> {
  readonly tags: readonly string[];
  /** The one node whose record it reads and confirms; null: it is bound to none. */
  readonly node: string | null;
  /**
   * When the certificate ends that it has shown last, and when it was seen last; RFC 3339. Null: it was not seen yet.
   */
  readonly notAfter: string | null;
  readonly lastSeen: string | null;
  /** How many servers it manages, of those that the asking client sees. Omitted: it is no proxy. */
  readonly servers?: number;
  /** The actions that it carries out. */
  readonly work?: readonly { readonly server: string; readonly operation: Operation; readonly since: string }[];
}

/** A provider entry, with its calls of the last hour. */
export interface ListedProvider {
  readonly name: string;
  readonly implementation: string;
  /** Servers that it has made, or was asked to make. */
  readonly servers: number;
  /** Calls in flight. */
  readonly running: number;
  /** Its last calls had no answer; null: they had. */
  readonly trouble: Outage | null;
  readonly history: EntryCalls & { readonly end: string; readonly stepSeconds: 60 };
}

/** How many nodes there are of each kind; docs/concepts.md, delivered. */
export type DeliveryCounts = Readonly<Record<DeliveryState | 'notReporting', number>>;

/** A node and its last confirmation. */
export interface DeliveredNode {
  readonly name: string;
  /** Null: it is a hand-written clientcert. */
  readonly instance: string | null;
  readonly state: DeliveryState;
  /** That of its present record. */
  readonly digest: string;
  /** The message is empty for proxies. */
  readonly confirmed: Pick<DeliveryRow, 'digest' | 'time' | 'outcome' | 'message'> & {
    /** Serial of the client, and its description; null: it is not registered any more. A proxy sees itself alone. */
    readonly client: string | null;
    readonly clientName: string | null;
  };
}

/** Which nodes run the record that is asked for. */
export interface Delivered {
  /** The commit that is asked for; null: the present records. */
  readonly commit: string | null;
  /** One sentence. */
  readonly summary: string;
  readonly counts: DeliveryCounts;
  /** Sorted by name. */
  readonly nodes: readonly DeliveredNode[];
  /** The name after which the next part begins; null where this is the last one. */
  readonly next: string | null;
}

/** Events of an instance. */
export interface InstanceEvents {
  /** Sorted by id. */
  readonly events: readonly InstanceEvent[];
  /** Events between `after` and the first one here were dropped already. */
  readonly gap: boolean;
}

/** One server of a list. */
export interface ListedServer extends Pick<ServerRow, 'instance' | 'state' | 'since' | 'attempt'> {
  readonly name: string;
  /** Its resource key in the template. */
  readonly group: string;
  /** Why it does not progress or what it waits for, for an operator; null where it is done. */
  readonly reason: string | null;
  /** When that ends by itself or is tried again, RFC 3339 with milliseconds; null where that is not known. */
  readonly until: string | null;
  /** The advice: a command to type, or words; null where nothing has to be done. */
  readonly action: string | null;
  /** The servers that have to be up first, as far as the client sees them. Omitted if there are none. */
  readonly dependsOn?: readonly string[];
  /** What is to happen, or happens, to the server that exists. Omitted if it stays. */
  readonly removal?: 'delete' | 'retain' | 'replace';
}

/** A part of a list of servers, sorted by name. */
export interface ServerPage {
  readonly servers: readonly ListedServer[];
  /** How many servers there are before and after this part too. */
  readonly total: number;
  /** The name after which the next part begins; null where this is the last one. */
  readonly next: string | null;
}

/** A property as it is wanted and as it was applied. Long values are shortened, and those of secret keys withheld. */
export interface ServerProperty {
  readonly property: string;
  /** Null: none, as the server is not wanted or the property is gone. */
  readonly wanted: Json;
  /** Null: none. */
  readonly applied: Json;
  /** What the last check found instead of the wanted value. Omitted where it found no difference. */
  readonly observed?: Json;
}

/** One server with its properties, sorted by name; proxies are shown none. */
export interface ServerDetails extends ListedServer, Pick<ServerRow, 'commit' | 'generation' | 'provider'> {
  readonly properties: readonly ServerProperty[];
  /** What the provider reported, without secrets. Omitted for proxies. */
  readonly outputs?: JsonMap;
  /** Its last check since the leader started. Omitted if there is none, and on a replica that does not lead. */
  readonly checked?: { readonly time: string; readonly outcome: string };
  /** Servers of its instance that depend on it, sorted. Omitted if there are none. */
  readonly neededBy?: readonly string[];
  /** The last confirmation of its record. Omitted if there is none. */
  readonly delivered?: DeliveredNode;
}

/** An event of one of several instances. */
export interface ToldEvent extends InstanceEvent {
  /** Null: it concerns every instance. */
  readonly instance: string | null;
}

/** Events of several instances. */
export interface ListedEvents extends Pick<InstanceEvents, 'gap'> {
  /** Sorted by id. */
  readonly events: readonly ToldEvent[];
}

/** One attempt to send an event to a subscriber. */
export interface SentNotification extends Omit<NotificationRow, 'target'> {
  /** Its name in the settings. */
  readonly subscriber: string;
}

/** One recorded server: what a plan reads of it, and what describes it besides. */
export interface RecordedServer extends RecordedFacts, Pick<ServerRow, 'reason' | 'since' | 'generation'> {
  /** Its instance is held. */
  readonly held: boolean;
  readonly outputs: JsonMap;
}

/** The recorded servers, and what is held of them. */
export interface RecordedState {
  /** The followed commit. */
  readonly commit: string;
  readonly held: readonly HeldItem[];
  /** A recovery is not over: no trailer approves anything, and all deletes are held. Omitted otherwise. */
  readonly isRecovering?: true;
  /** Sorted by name. */
  readonly servers: readonly RecordedServer[];
}

/** The servers of an operation: exactly one of these. */
export type Target =
  | { readonly instance: string }
  | { readonly resource: string }
  | { readonly provider: string }
  | { readonly all: true };

/** The servers of a retry; with `ignoreOrder`, one that is not to wait for others any more. */
export type RetryTarget = Target | { readonly resource: string; readonly ignoreOrder: true };

/** The client that asks for an operation, and its reason. */
export interface Order extends Caller {
  /** Kept with what it causes; may be empty. */
  readonly reason: string;
}
