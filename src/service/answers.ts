// Defines the parameters and answers of operations. See docs/rest.md, operations.
import type { InstanceEvent } from '../model/instance-event.ts';
import type { Json, JsonMap } from '../model/json.ts';
import type { Client } from '../model/objects.ts';
import type { DeliveryRow, HoldKind, NotificationRow, RecoveryRow, ServerRow } from '../model/rows.ts';
import type { DeliveryState, InstanceStatus, Operation, State } from '../model/state.ts';
import type { RecordedFacts } from '../plan/recorded-facts.ts';
import type { EntryCalls } from '../reconcile/checks/call-history.ts';
import type { Caller } from './caller.ts';

/** A change that waits for an operator's approval. */
export interface HeldItem {
  readonly kind: HoldKind;
  /** The digest that an approval names. */
  readonly digest: string;
  /** Null if the hold concerns a whole commit. */
  readonly instance: string | null;
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
  /** Names of the servers that would be deleted or replaced, or whose update failed; sorted. */
  readonly resources: readonly string[];
  /**
   * The commit that asks for the change: the followed commit with which the hold began, or the commit that is not
   * followed. Null if unknown.
   */
  readonly commit: string | null;
  /** The author of that commit. Null if unknown, or if the client does not see authors. */
  readonly author: string | null;
  /** What to do before approving, if the change is probably a mistake. */
  readonly check?: string;
}

/** The number of servers in each state. States without servers are omitted. */
export type StateCounts = Readonly<Partial<Record<State, number>>>;

/** One property in which a server differs from its wanted spec. Long values are shortened. */
export interface PropertyDifference {
  readonly property: string;
  /** The value that the last action left; null if none. */
  readonly applied: Json;
  /** The value that the last check found. */
  readonly observed: Json;
  /** The value of the active commit; null if the server is not wanted or the property was removed. */
  readonly wanted: Json;
}

/** One reason why an instance is not done. */
export interface WaitingItem {
  /** The server; null if the item concerns the whole instance. */
  readonly resource: string | null;
  /**
   * The server's state. For an item of the whole instance: the status that results, `Not followed` if the newest commit
   * is not followed, or `Outage`.
   */
  readonly state: State | InstanceStatus | 'Not followed' | 'Outage';
  /** The cause of the wait, for an operator. */
  readonly reason: string;
  /** RFC 3339, with milliseconds; null if not recorded. */
  readonly since: string | null;
  /** When the wait ends or the next attempt starts, RFC 3339 with milliseconds; null if unknown. */
  readonly until: string | null;
  /** The advice: a command to run, or a sentence; null if the operator need not act. */
  readonly action: string | null;
  /** The properties in which the server differs from its wanted spec; omitted if none is known. */
  readonly difference?: readonly PropertyDifference[];
}

/**
 * With several replicas: the leader, and whether the replica that answers has caught up with it. Omitted for proxies.
 */
export interface ReplicaFacts {
  /**
   * Null if no leader is known: then the replica answers from its own state. Omitted if the store is embedded.
   */
  readonly leader?: LeadingReplica | null;
  /** Why the replica that answers is behind the leader. Omitted if it has caught up. */
  readonly lag?: Outage;
}

/** A replica that leads. */
export interface LeadingReplica {
  readonly name: string;
  /** RFC 3339, with milliseconds, by the database's clock. */
  readonly since: string;
  /** Greater than the number of every earlier leader. */
  readonly fencing: number;
}

/** The reasons why an instance is not done. */
export interface Why extends ReplicaFacts {
  readonly status: InstanceStatus;
  /** One sentence: the first of `waiting`, the server at the end of its chain of waits, or that everything is done. */
  readonly summary: string;
  readonly counts: StateCounts;
  /** Items that need an operator come first. At most 1,000: `counts` has all. */
  readonly waiting: readonly WaitingItem[];
}

/** The newest commit, if it is not followed. */
export interface UnfollowedCommit {
  readonly commit: string;
  readonly reason: string;
  readonly since: string;
  readonly action: string;
}

/** Something outside the controller that fails now. */
export interface Outage {
  readonly reason: string;
  /** When this process first saw the failure, RFC 3339 with milliseconds. */
  readonly since: string;
}

/** Sorted names of an instance's servers during a recovery, grouped by what is known. Each is in one list. */
export interface RecoveredServers {
  /** Recorded, and equal to the wanted spec. */
  readonly found: readonly string[];
  /** A check found a different value, or no server. */
  readonly drifted: readonly string[];
  /** An operator has to decide: adopt it, retain it, or correct the reason. */
  readonly waiting: readonly string[];
  /** No check has finished yet. */
  readonly unchecked: readonly string[];
  /** Absent; a resume creates them. */
  readonly create: readonly string[];
  /** A resume updates, replaces or deletes them, unless the instance is held. */
  readonly update: readonly string[];
  readonly replace: readonly string[];
  readonly delete: readonly string[];
}

/** What a recovery found in one instance. */
export interface RecoveredInstance extends RecoveredServers {
  readonly instance: string;
  /** Deletes and replacements of the instance wait for an approval, also after a resume. */
  readonly isHeld: boolean;
}

/** A recovery: the rows may differ from what was done, so no action starts until an operator resumes. */
export interface Recovery extends RecoveryRow {
  /** Sorted by name. */
  readonly instances: readonly RecoveredInstance[];
}

/** The recovery in progress; null if there is none. */
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

/** One cause that needs an operator, however many servers it affects. */
export interface Cause {
  /**
   * Kind, colon and subject, such as `held:shop`. Stable while the cause lasts, also across restarts and replicas.
   */
  readonly id: string;
  readonly kind: AttentionKind;
  /** The affected instances, sorted; empty if the cause affects none in particular. */
  readonly instances: readonly string[];
  /** The number of affected servers, and the first of their names, sorted. */
  readonly servers: { readonly count: number; readonly examples: readonly string[] };
  /** One sentence for an operator. */
  readonly reason: string;
  /** RFC 3339, with milliseconds; null if not recorded. */
  readonly since: string | null;
  /** A command to run, or a sentence; null if the operator can only wait. */
  readonly action: string | null;
}

/** A cause in the list, with at most 100 instances. */
export interface AttentionItem extends Cause {
  /**
   * Set if an operator acknowledged the cause for every affected instance: it is listed last and sends no
   * notification.
   */
  readonly acknowledged: { readonly by: string; readonly until: string; readonly reason: string } | null;
}

/** What needs an operator. */
export interface Attention {
  /** Sorted by kind, then by id, acknowledged items last. At most 1,000. */
  readonly attention: readonly AttentionItem[];
  /** The number of further items; omitted if there are none. */
  readonly attentionLeftOut?: number;
}

/** Failures other than those of servers. An absent name means no failure. */
export type Outages = Readonly<Partial<Record<OutageName, Outage | undefined>>>;
/**
 * In this order: the last poll could not read or copy the branch; the store saves nothing; a program cannot be ended;
 * new TLS files cannot be used; replicas are incompatible; commit statuses are not sent; notifications are not
 * delivered; the audit log loses lines.
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
  /** The author; null if unknown. Omitted for proxies. */
  readonly author?: string | null;
  /** Null if the followed commit is the newest one. */
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
  /** The folder of its file below `stacks/instances/`. Omitted if the file is at the top or was removed. */
  readonly folder?: string;
  /** Omitted if it has none. */
  readonly tenant?: string;
  /** The commit of its active version, unless that is the followed commit. */
  readonly commit?: string;
}

/** A registered client. */
export interface ClientSeen extends Pick<Client, 'serial' | 'role' | 'description' | 'tenant'> {
  readonly tags: readonly string[];
  /** The one node whose record the client reads and confirms; null if it is bound to none. */
  readonly node: string | null;
  /**
   * When the last certificate of the client expires, and when the client was last seen; RFC 3339. Null if never seen.
   */
  readonly notAfter: string | null;
  readonly lastSeen: string | null;
  /** The number of servers that it manages and that the asking client sees. Omitted if it is not a proxy. */
  readonly servers?: number;
  /** The actions that it carries out. */
  readonly work?: readonly { readonly server: string; readonly operation: Operation; readonly since: string }[];
}

/** A provider entry, with its calls of the last hour. */
export interface ListedProvider {
  readonly name: string;
  readonly implementation: string;
  /** The number of servers that it created, or was asked to create. */
  readonly servers: number;
  /** Calls in flight. */
  readonly running: number;
  /** Set if its last calls had no answer. */
  readonly trouble: Outage | null;
  readonly history: EntryCalls & { readonly end: string; readonly stepSeconds: 60 };
}

/** The number of nodes in each delivery state; docs/concepts.md, delivered. */
export type DeliveryCounts = Readonly<Record<DeliveryState | 'notReporting', number>>;

/** A node and its last confirmation. */
export interface DeliveredNode {
  readonly name: string;
  /** Null for a hand-written clientcert. */
  readonly instance: string | null;
  readonly state: DeliveryState;
  /** The digest of its current record. */
  readonly digest: string;
  /** The message is empty for proxies. */
  readonly confirmed: Pick<DeliveryRow, 'digest' | 'time' | 'outcome' | 'message'> & {
    /** The client's serial and description; null if it is no longer registered. A proxy sees only itself. */
    readonly client: string | null;
    readonly clientName: string | null;
  };
}

/** The nodes that run the requested record, and those that do not. */
export interface Delivered {
  /** The requested commit; null for the current records. */
  readonly commit: string | null;
  /** One sentence. */
  readonly summary: string;
  readonly counts: DeliveryCounts;
  /** Sorted by name. */
  readonly nodes: readonly DeliveredNode[];
  /** The name after which the next page begins; null on the last page. */
  readonly next: string | null;
}

/** Events of an instance. */
export interface InstanceEvents {
  /** Sorted by id. */
  readonly events: readonly InstanceEvent[];
  /** True if events between `after` and the first event here were already dropped. */
  readonly gap: boolean;
}

/** One server of a list. */
export interface ListedServer extends Pick<ServerRow, 'instance' | 'state' | 'since' | 'attempt'> {
  readonly name: string;
  /** Its resource key in the template. */
  readonly group: string;
  /** Why the server does not progress or what it waits for; null if it is done. */
  readonly reason: string | null;
  /** When the wait ends or the next attempt starts, RFC 3339 with milliseconds; null if unknown. */
  readonly until: string | null;
  /** The advice: a command to run, or a sentence; null if the operator need not act. */
  readonly action: string | null;
  /** The servers that have to be up first, limited to those that the client sees. Omitted if there are none. */
  readonly dependsOn?: readonly string[];
  /** What happens to the existing server. Omitted if it stays. */
  readonly removal?: 'delete' | 'retain' | 'replace';
}

/** A page of servers, sorted by name. */
export interface ServerPage {
  readonly servers: readonly ListedServer[];
  /** The number of matching servers on all pages. */
  readonly total: number;
  /** The name after which the next page begins; null on the last page. */
  readonly next: string | null;
}

/** The wanted and the applied value of a property. Long values are shortened, values of secret keys withheld. */
export interface ServerProperty {
  readonly property: string;
  /** Null if the server is not wanted or the property was removed. */
  readonly wanted: Json;
  /** Null: none. */
  readonly applied: Json;
  /** What the last check found instead of the wanted value. Omitted if it found no difference. */
  readonly observed?: Json;
}

/** One server with its properties, sorted by name. Proxies see no properties. */
export interface ServerDetails extends ListedServer, Pick<ServerRow, 'commit' | 'generation' | 'provider'> {
  readonly properties: readonly ServerProperty[];
  /** What the provider reported, without secrets. Omitted for proxies. */
  readonly outputs?: JsonMap;
  /** Its last check since the leader started. Omitted if there is none, and on a standby. */
  readonly checked?: { readonly time: string; readonly outcome: string };
  /** The servers of its instance that depend on it, sorted. Omitted if there are none. */
  readonly neededBy?: readonly string[];
  /** The last confirmation of its record. Omitted if there is none. */
  readonly delivered?: DeliveredNode;
}

/** An event of one of several instances. */
export interface EventView extends InstanceEvent {
  /** Null if the event concerns every instance. */
  readonly instance: string | null;
}

/** Events of several instances. */
export interface ListedEvents extends Pick<InstanceEvents, 'gap'> {
  /** Sorted by id. */
  readonly events: readonly EventView[];
}

/** One attempt to notify a subscriber of an event. */
export interface SentNotification extends Omit<NotificationRow, 'target'> {
  /** The subscriber's name in the settings. */
  readonly subscriber: string;
}

/** One recorded server: the facts that a plan needs, and further description. */
export interface RecordedServer extends RecordedFacts, Pick<ServerRow, 'reason' | 'since' | 'generation'> {
  /** True if its instance is held. */
  readonly held: boolean;
  readonly outputs: JsonMap;
}

/** The recorded servers and the held changes. */
export interface RecordedState {
  /** The followed commit. */
  readonly commit: string;
  readonly held: readonly HeldItem[];
  /** Set during a recovery: no trailer approves anything, and all deletes are held. */
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

/** The servers of a retry. With `ignoreOrder`: one server that stops waiting for others. */
export type RetryTarget = Target | { readonly resource: string; readonly ignoreOrder: true };

/** The client that asks for an operation, and its reason. */
export interface Order extends Caller {
  /** Recorded with the result of the operation; may be empty. */
  readonly reason: string;
}
