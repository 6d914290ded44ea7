// Defines the reads of the API. Answers are complete bodies of the interface (docs/rest.md), come from memory, and
// belong to one commit.
import type { JsonMap } from '../model/json.ts';
import type { Role, TypeName } from '../model/names.ts';
import type { Client, StackInstance, StackTemplate, TreeNode } from '../model/objects.ts';
import type { ExplainedRecord, ExplainedValue, NodeAtMoment, NodeRecord, RecordValue } from '../model/record.ts';
import type { InstanceStatus, State } from '../model/state.ts';
import type { Steps } from '../model/steps.ts';

/** Resource key, then server name, then its state. A group without members is an empty map. */
export type ResourceStates = Readonly<Record<string, Readonly<Record<string, { readonly state: State }>>>>;

/** An instance, and the state of each of its servers. */
export interface InstanceView extends StackInstance {
  readonly resources: ResourceStates;
}

/** An object, and the blob of its file for the ETag; null where it has no file. */
export interface Served<Body> {
  readonly body: Body;
  readonly oid: string | null;
}

/**
 * Every method throws ServiceError: `not_ready` before the first good commit, `not_found` for a name that is not
 * there. Lists are sorted by name.
 */
export interface Reader {
  /** Full object id of the newest commit that is followed. */
  commit(): string;

  /** Returns the same, or while nothing is active and a commit is held, that of the commit that was followed last. */
  recordedCommit(): string;

  /** Changes with the desired state that is shown and with every row: as long as it is the same, so are answers made of them alone. Never throws. */
  version(): string;

  /**
   * Returns the client with this canonical serial, as long as it is active; before the first commit none is.
   * While nothing is active and a commit is held, the clients of the last desired state are registered.
   */
  registered(serial: string): Client | undefined;

  /** Returns work that finds all of them, of the moment of this call. */
  instances(): Steps<readonly InstanceView[]>;
  instance(name: string): Served<InstanceView>;
  status(name: string): InstanceStatus;
  statusFull(name: string): ResourceStates;

  templates(): readonly StackTemplate[];
  template(name: string): Served<StackTemplate>;

  /** A proxy sees its own record only. */
  clients(by: Client, role: Role | undefined): readonly Client[];
  /** Throws `not_allowed` where a proxy asks for another's. The serial may be spelled in any way; see model/serial.ts. */
  client(by: Client, serial: string): Served<Client>;

  /** Returns work that finds all of a type, of the moment of this call; `type` may be `all`. Throws `not_found` for an unknown one. */
  objects(type: string): Steps<readonly JsonMap[]>;
  object(type: string, name: string): Served<JsonMap>;
  types(): readonly TypeName[];

  /** Returns work that finds every node with a record, sorted by name, all of the moment of this call. */
  nodes(): Steps<readonly NodeAtMoment[]>;
  record(node: string): NodeRecord;
  explainedRecord(node: string): ExplainedRecord;
  value(node: string, key: string): RecordValue;
  explainedValue(node: string, key: string): ExplainedValue;

  tree(): Served<TreeNode>;
}
