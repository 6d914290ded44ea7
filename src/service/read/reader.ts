// Answers the reads of the API from the active desired state and the recorded rows.

import { nodeAtMoment, nodeOf, nodesAtMoment, recordedNodes } from '../../desired/node-records.ts';
import { addressOf } from '../../model/address.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../../model/json.ts';
import { compareNames, isTypeName, kindOf, type Role, TYPE_NAMES, type TypeName } from '../../model/names.ts';
import type { Client, StackTemplate, TreeNode } from '../../model/objects.ts';
import type { ExplainedRecord, ExplainedValue, NodeAtMoment, NodeRecord, RecordValue } from '../../model/record.ts';
import type { ServerRow } from '../../model/rows.ts';
import { canonicalSerial } from '../../model/serial.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { InstanceStatus } from '../../model/state.ts';
import { registryOf } from '../caller.ts';
import { unknown, unknownKey, unknownNode } from '../refusals.ts';
import { EVERYTHING, Scope } from '../scope.ts';
import { activeView, type View, type ViewSources } from '../views.ts';
import {
  type InstanceView,
  instanceNames,
  instanceStatus,
  type ResourceStates,
  requireInstance,
  resourceStates,
  type Served,
  type StallsOf,
  unknownInstance,
  viewInstance,
  viewInstances,
} from './instance-views.ts';

interface ReaderOptions extends ViewSources {
  /** Changes with every active desired state. */
  readonly desiredVersion: () => number;
  readonly stallsOf: StallsOf;
}

/**
 * The reads of the API. Answers are complete bodies of the interface (docs/rest.md), come from memory, and belong to
 * one commit. Every method throws ServiceError: `not_ready` before the first good commit, `not_found` for an unknown
 * name. Lists are sorted by name.
 */
export type Reader = ReturnType<typeof createReader>;

/** Returns the reader. Every answer is consistent: a read does not wait, or it copies the rows first. */
export function createReader(options: ReaderOptions) {
  const scopeOf = (by: Client): Scope => new Scope(by, options);
  return {
    ...readerOf(options, EVERYTHING),
    /** Returns the reads of one client. For records that it does not see, {@link nodeReads} throws `not_allowed`. */
    as: (by: Client) => readerOf(options, scopeOf(by)),
    /** Returns what a client sees. */
    scopeOf,
  };
}

function readerOf(options: ReaderOptions, scope: Scope) {
  const view = (): View => activeView(options);
  return {
    /** Full object id of the newest commit that is followed. */
    commit: (): string => view().desired.commit,
    /**
     * Changes with the active desired state and with every row. While it is the same, so are answers that depend only
     * on these. Never throws.
     */
    version: (): string => `${options.desiredVersion()}.${options.rows.version}`,
    /** Returns the active client with this canonical serial; undefined before the first good commit. */
    registered(serial: string): Client | undefined {
      const active = options.desired();
      return active && registryOf(active)(serial);
    },
    ...instanceReads(view, options.stallsOf, scope),
    ...objectReads(view, scope),
    ...nodeReads(view, scope),
  };
}

function instanceReads(view: () => View, stallsOf: StallsOf, scope: Scope) {
  /** Returns the current view. Throws if it has no instance of that name. */
  function viewWith(name: string): View {
    const present = view();
    requireInstance(present, name, { scope });
    return present;
  }

  return {
    /** Returns all instances, sorted by name. */
    instances: (): readonly InstanceView[] => viewInstances(view(), scope),
    instance(name: string): Served<InstanceView> {
      const served = scope.seesInstance(name) ? viewInstance(view(), name) : undefined;
      if (served !== undefined) return served;
      throw unknownInstance(view(), name, { scope });
    },
    status: (name: string): InstanceStatus => instanceStatus(viewWith(name), name, stallsOf),
    statusFull: (name: string): ResourceStates => resourceStates(viewWith(name), name),
  };
}

function objectReads(view: () => View, scope: Scope) {
  function objectOf(type: TypeName, name: string): Served<JsonMap> {
    const present = view();
    const served = scope.seesObject(addressOf(type, name)) ? viewObject(present, type, name) : undefined;
    if (served !== undefined) return served;
    const names = scope.isWhole ? typesOf(type).flatMap((each) => [...namesOfType(present, each)]) : [];
    return unknown(kindOf(type), name, names);
  }

  /**
   * Sorted by name; for `all`, the objects of every other type, by type and name. Each object is built when it is
   * read.
   */
  function objectsOf(type: TypeName): Iterable<JsonMap> {
    const present = view();
    return (function* () {
      for (const each of typesOf(type)) {
        for (const name of [...namesOfType(present, each)].sort(compareNames)) {
          const served = scope.seesObject(addressOf(each, name)) ? viewObject(present, each, name) : undefined;
          if (served !== undefined) yield served.body;
        }
      }
    })();
  }

  return {
    templates: () => [...objectsOf('stack-template')] as unknown as readonly StackTemplate[],
    template: (name: string) => objectOf('stack-template', name) as unknown as Served<StackTemplate>,
    clients: (role: Role | undefined): readonly Client[] =>
      [...view().desired.clients.values()]
        .flatMap(({ entry }) => entry.object ?? [])
        .filter((client) => scope.seesClient(client.serial) && (role === undefined || client.role === role))
        .sort((a, b) => (a.serial < b.serial ? -1 : 1)),
    /**
     * Throws `not_allowed` if a proxy asks for another client. Accepts every spelling of the serial; see
     * model/serial.ts.
     */
    client(given: string): Served<Client> {
      const serial = canonicalSerial(given) ?? given;
      const isSeen = scope.seesClient(serial);
      if (!isSeen && scope.isProxy)
        throw new ServiceError('not_allowed', 'A proxy may read its own client record only');
      const entry = isSeen ? view().desired.clients.get(serial)?.entry : undefined;
      return entry?.object == null ? unknown('client', given, []) : { body: entry.object, oid: entry.oid };
    },
    types: (): readonly TypeName[] => TYPE_NAMES,
    /** Returns all objects of a type (or `all`), to be iterated once. Throws `not_found` for an unknown type. */
    objects: (type: string): Iterable<JsonMap> => objectsOf(typeNamed(type)),
    object: (type: string, name: string): Served<JsonMap> => objectOf(typeNamed(type), name),
    tree(): Served<TreeNode> {
      const { object, oid } = view().desired.catalog.tree;
      return object === null || !scope.seesObject('tree')
        ? unknown('tree', 'tree.yaml', [])
        : { body: object, oid: oid || null };
    },
  };
}

/**
 * Returns the reads of nodes. Hiera answers "unknown" by asking its next level, so a limited client gets a refusal for
 * each node that it does not see, existing or not.
 */
function nodeReads(view: () => View, scope: Scope) {
  function node(name: string): NodeAtMoment {
    const present = view();
    if (!scope.seesNode(name))
      throw new ServiceError('not_allowed', `This client may not read the record of "${name}"`);
    return nodeAtMoment(present, name) ?? unknownNode(present, name, scope);
  }

  function explainedValue(name: string, key: string): ExplainedValue {
    const { value, record } = node(name);
    const explained = value(key);
    if (explained !== undefined) return explained;
    throw unknownKey(name, key, Object.keys(record()));
  }

  return {
    /** Returns every node with a record, sorted by name, all as of this call. */
    nodes: (): readonly NodeAtMoment[] => nodesAtMoment(view(), (name) => scope.seesNode(name)),
    /**
     * Returns the sources of a node's record, even for an unknown node. While these are the same, so is the record.
     */
    recordSources(name: string): readonly unknown[] {
      const { desired, rows } = view();
      return [nodeOf(desired, name), rows.server(name) ?? rows.read('node', name)];
    },
    record: (name: string): NodeRecord => node(name).record(),
    explainedRecord: (name: string): ExplainedRecord => node(name).explained(),
    value: (name: string, key: string): RecordValue => explainedValue(name, key).value,
    explainedValue,
  };
}

function typeNamed(type: string): TypeName {
  return isTypeName(type) ? type : unknown('type', type, TYPE_NAMES);
}

/** Returns one object, or undefined if there is none. */
function viewObject(view: View, type: TypeName, name: string): Served<JsonMap> | undefined {
  if (type === 'stack-instance') {
    const instance = viewInstance(view, name);
    return instance === undefined ? undefined : { body: { ...instance.body } as JsonMap, oid: instance.oid };
  }
  const made = type === 'clientcert' ? viewServer(view, name) : undefined;
  if (made !== undefined) return made;
  const entry = view.desired.objects.get(addressOf(type, name))?.entry;
  return entry !== undefined && isMap(entry.object) ? { body: entry.object, oid: entry.oid } : undefined;
}

function typesOf(type: TypeName): readonly TypeName[] {
  return type === 'all' ? TYPE_NAMES.filter((name) => name !== 'all').sort(compareNames) : [type];
}

/** Returns the names of all objects of a type. */
function namesOfType(view: View, type: TypeName): Iterable<string> {
  if (type === 'stack-instance') return instanceNames(view);
  const start = addressOf(type, '');
  const names = new Set(type === 'clientcert' ? recordedNodes(view) : []);
  for (const address of view.desired.objects.keys())
    if (address.startsWith(start)) names.add(address.slice(start.length));
  return names;
}

/**
 * Returns a stack's server as a clientcert: its own properties, overridden by its clientcert file. Not the merged
 * record.
 */
function viewServer({ desired, rows }: View, name: string): Served<JsonMap> | undefined {
  const row = rows.server(name);
  if (row === undefined) return undefined;
  const node = desired.owners.has(name) ? nodeOf(desired, name) : undefined;
  const oid = desired.objects.get(addressOf('clientcert', name))?.entry.oid ?? null;
  if (node === undefined) return { body: { ...describe(name, lastDescription(row)), ...row.applied?.properties }, oid };
  const own = emptyMap<Json>();
  for (const { values } of node.own) Object.assign(own, values);
  return { body: { ...own, ...describe(name, node.description) }, oid };
}

function describe(name: string, description: string): JsonMap {
  return { name, type: 'clientcert', description };
}

function lastDescription(row: ServerRow): string {
  return String(row.lastRecord?.description?.value ?? '');
}
