// Compares the servers of two desired states like the reconciler: which are created, updated, deleted or left.

import { quote, quoteSome } from '../base/wording.ts';
import type { LossPolicies } from '../desired/desired-state.ts';
import { isRetaining, type Unit } from '../desired/unit.ts';
import { needsNoAction } from '../machine/existence.ts';
import { addressOf, instanceAddress } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import type { WantedServer } from '../model/spec.ts';
import {
  type CauseLine,
  causeOf,
  causeOfValidity,
  isUnread,
  lineAt,
  MEMBER_FIELDS,
  type UnitVersions,
} from './causes.ts';
import {
  type ChangedProperty,
  changedProperties,
  type IsSecret,
  shownProperties,
  unknownProperties,
} from './changed-properties.ts';
import type { ChangedServer } from './changed-servers.ts';
import type { RetainedServer, ServerChange } from './plan.ts';

type Units = ReadonlyMap<string, Unit>;

interface ComparedUnits {
  /** Active units by address. */
  readonly before: Units;
  readonly after: Units;
  /** Instances from the files of base, valid or not, by address. */
  readonly writtenBefore: Units;
  /** The policies of instances that lose servers, where they differ from `before`. */
  readonly losses: LossPolicies;
  readonly isSecret: IsSecret;
}

/** The effects of a merge on servers. Both lists are sorted by name. */
export interface ServerChanges {
  readonly changes: readonly ServerChange[];
  readonly retained: readonly RetainedServer[];
}

/** Returns the changes of servers. A server that only moves to another place of a stack has no change. */
export function compareServers(servers: readonly ChangedServer[], units: ComparedUnits): ServerChanges {
  const changes: ServerChange[] = [];
  const retained: RetainedServer[] = [];
  for (const server of servers) {
    const { before, after } = server;
    if (after === undefined && before !== undefined) {
      const gone = goneServer(before.part, before.unit, units);
      if (isRetained(before.part, units)) retained.push(gone);
      else changes.push({ action: 'delete', ...withDependent(gone, units), properties: {} });
    } else if (after !== undefined) {
      const change = before === undefined ? created(after.part, after.unit, units) : updated(server, units);
      if (change !== undefined) changes.push(change);
    }
  }
  return { changes: changes.sort(byServer), retained: retained.sort(byServer) };
}

function byServer(a: Pick<ServerChange, 'resource'>, b: Pick<ServerChange, 'resource'>): number {
  return compareNames(a.resource, b.resource);
}

/** Returns true if an unwanted server stays: by the policy before the merge, or by the new version. */
function isRetained({ policy, instance }: WantedServer, { after, losses }: ComparedUnits): boolean {
  const key = instanceAddress(instance);
  return (losses.get(key) ?? policy).deletion === 'retain' || isRetaining(after.get(key));
}

/** Adds to a delete that it waits while an active version of another instance depends on the server. */
function withDependent(gone: RetainedServer, { after }: ComparedUnits): RetainedServer {
  const dependent = dependentsIn(after).get(gone.resource);
  if (dependent === undefined) return gone;
  return { ...gone, reason: `${gone.reason}; it waits while ${quote(dependent)} depends on it` };
}

const dependents = new WeakMap<Units, ReadonlyMap<string, string>>();

/** Returns for each server name a server of another instance that depends on it. */
function dependentsIn(units: Units): ReadonlyMap<string, string> {
  const known = dependents.get(units);
  if (known !== undefined) return known;
  const found = new Map(
    [...units.values()].flatMap(({ outside }) => outside.map(({ server, of }) => [server, of] as const)),
  );
  dependents.set(units, found);
  return found;
}

function placeOf({ name, instance, key }: WantedServer): Pick<ServerChange, 'resource' | 'instance' | 'group'> {
  return { resource: name, instance, group: key };
}

function created(server: WantedServer, after: Unit, units: ComparedUnits): ServerChange {
  const place = placeOf(server);
  const before = units.before.get(instanceAddress(server.instance));
  const details = before === undefined ? newInstance(after, units) : membersText({ before, after }, server, 'new');
  return { action: 'create', ...place, ...details, properties: unknownProperties(server.spec) };
}

function newInstance(after: Unit, { writtenBefore }: ComparedUnits): ExplainedCause {
  const written = writtenBefore.get(instanceAddress(after.name));
  if (written === undefined)
    return { reason: `the stack instance ${quote(after.name)} is new`, ...lineAt(after.entry, '') };
  const reason = `the stack instance ${quote(after.name)} becomes active for the first time`;
  return { reason, ...causeOfValidity({ before: written, after }) };
}

function goneServer(
  server: WantedServer,
  before: Unit,
  { after: units, writtenBefore }: ComparedUnits,
): RetainedServer {
  const address = instanceAddress(server.instance);
  const after = units.get(address);
  const place = placeOf(server);
  if (after !== undefined) return { ...place, ...membersText({ before, after }, server, 'gone') };
  const reason = `the stack instance ${quote(server.instance)} is removed`;
  // An instance that was built from rows has no file: use that of base, unless an earlier commit removed it.
  const entry = isUnread(before) ? writtenBefore.get(address)?.entry : before.entry;
  return { ...place, reason, file: entry?.path ?? null, line: null };
}

type ExplainedCause = CauseLine & Pick<ServerChange, 'reason'>;

/** Explains why a resource has other servers than before. */
function membersText(versions: UnitVersions, { key }: WantedServer, how: 'new' | 'gone'): ExplainedCause {
  const instance = `the stack instance ${quote(versions.after.name)}`;
  if (how === 'new' && !versions.before.keys.includes(key))
    return { reason: `the resource ${quote(key)} is new in ${instance}`, ...causeOf(versions, { key }) };
  if (how === 'gone' && !versions.after.keys.includes(key))
    return { reason: `${instance} has no resource ${quote(key)} any more`, ...causeOf(versions, { key }) };
  const cause = causeOf(versions, { key, fields: MEMBER_FIELDS });
  const [old, now] = [membersIn(versions.before, key), membersIn(versions.after, key)];
  if (old === now) return { reason: `${quote(key)} of ${instance} has servers of other names`, ...cause };
  const servers = `${now} ${now === 1 ? 'server' : 'servers'}, and had ${old}`;
  return { reason: `${quote(key)} of ${instance} has ${servers}`, ...cause };
}

const counts = new WeakMap<Unit, ReadonlyMap<string, number>>();

function membersIn(unit: Unit, key: string): number {
  const known = counts.get(unit) ?? countMembers(unit);
  counts.set(unit, known);
  return known.get(key) ?? 0;
}

function countMembers({ servers }: Unit): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { key } of servers.values()) found.set(key, (found.get(key) ?? 0) + 1);
  return found;
}

function updated({ name, before, after }: ChangedServer, { isSecret }: ComparedUnits): ServerChange | undefined {
  if (before === undefined || after === undefined) return undefined;
  const [was, is] = [before.part, after.part];
  if (needsNoAction(is.spec, was.spec)) return undefined;
  const changed = changedProperties(was.spec, is.spec);
  const names = changed.map((property) => property.name);
  const versions = { before: before.unit, after: after.unit };
  const fields = changed.map((property) => property.key);
  const cause = causeOf(versions, { key: is.key, fields, others: layersOf(versions, name, changed) });
  const reason =
    `${names.length === 1 ? 'the property' : 'the properties'} ${quoteSome(names)} ` +
    `${names.length === 1 ? 'changes' : 'change'}`;
  return { action: 'update', ...placeOf(is), reason, ...cause, properties: shownProperties(changed, isSecret) };
}

/** Returns the addresses of the layers of changed properties, then of the objects that order the layers. */
function layersOf(versions: UnitVersions, name: string, changed: readonly ChangedProperty[]): readonly string[] {
  const types = new Set(changed.map(({ layer }) => layer));
  const nodes = [versions.after, versions.before].map((unit) => unit.nodes.get(name));
  const layers = nodes.flatMap((node) => node?.shared ?? []).filter(({ type }) => types.has(type));
  const order = types.size === 1 && types.has(null) ? [] : ['hierarchy', 'tree'];
  return [...layers.map(({ type, name: object }) => addressOf(type, object)), ...order];
}
