// Builds the views of instances: the active document, and the state of every server that still exists. For an unknown
// name, suggests an instance.

import { withSuggestion } from '../../base/wording.ts';
import type { Stall } from '../../machine/chain.ts';
import { isWaiting } from '../../machine/needs.ts';
import { effectiveState } from '../../machine/reasons.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { rollUp } from '../../machine/roll-up.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../../machine/suspension.ts';
import { instanceAddress } from '../../model/address.ts';
import { emptyMap } from '../../model/json.ts';
import { compareNames } from '../../model/names.ts';
import type { StackInstance } from '../../model/objects.ts';
import type { ServerRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { InstanceStatus, State } from '../../model/state.ts';
import type { Scope } from '../scope.ts';
import type { View } from '../views.ts';

/** Resource key, then server name, then its state. A group without members is an empty map. */
export type ResourceStates = Readonly<Record<string, Readonly<Record<string, { readonly state: State }>>>>;

/** An instance, and the state of each of its servers. */
export interface InstanceView extends StackInstance {
  readonly resources: ResourceStates;
}

/** An object, and the blob of its file for the ETag; null if it has no file. */
export interface Served<Body> {
  readonly body: Body;
  readonly oid: string | null;
}

/**
 * Returns why none of these waiting servers can continue before an operator acts; undefined if one can. See stall.ts.
 */
export type StallsOf = (servers: readonly string[]) => readonly Stall[] | undefined;

/** Yields the name of each instance once, in any order: active, never valid, or terminating. */
export function* instanceNames({ desired, rows }: View): Generator<string> {
  for (const { type, name } of desired.units.values()) if (type === 'stack-instance') yield name;
  const isActive = (name: string): boolean => desired.units.has(instanceAddress(name));
  for (const name of desired.invalid) if (!isActive(name)) yield name;
  for (const name of rows.list('terminating').keys()) if (!isActive(name) && !desired.invalid.has(name)) yield name;
}

/** Returns true if {@link instanceNames} has this name. */
export function hasInstance({ desired, rows }: View, name: string): boolean {
  return (
    desired.units.has(instanceAddress(name)) ||
    desired.invalid.has(name) ||
    rows.read('terminating', name) !== undefined
  );
}

/** Returns all instances that a client sees, sorted by name. */
export function viewInstances(view: View, scope: Scope): readonly InstanceView[] {
  const found: InstanceView[] = [];
  for (const name of [...instanceNames(view)].sort(compareNames)) {
    const served = scope.seesInstance(name) ? viewInstance(view, name) : undefined;
    if (served !== undefined) found.push(served.body);
  }
  return found;
}

/** Returns an instance in the form of the API, or undefined if there is none of that name. */
export function viewInstance(view: View, name: string): Served<InstanceView> | undefined {
  const document = documentOf(view, name);
  if (document === undefined) return undefined;
  return { body: { ...document.body, resources: resourceStates(view, name) }, oid: document.oid };
}

/** Returns the state of every server of an instance by resource key; a key without servers has an empty map. */
export function resourceStates(view: View, name: string): ResourceStates {
  const unit = view.desired.units.get(instanceAddress(name));
  const resources = emptyMap<Record<string, { state: State }>>();
  for (const key of unit?.keys ?? []) resources[key] = emptyMap();
  for (const { server, row } of recordedServers(view, name)) {
    const states = resources[row.key] ?? emptyMap();
    resources[row.key] = states;
    states[server] = { state: row.state };
  }
  return resources;
}

/**
 * Returns the recorded servers of an instance. The index lacks the servers that a large commit has just added.
 */
function recordedServers(
  { desired, rows }: View,
  name: string,
): { readonly server: string; readonly row: ServerRow }[] {
  const wanted = desired.units.get(instanceAddress(name))?.servers.keys() ?? [];
  return [...new Set([...wanted, ...rows.index.serversOf(name)])].flatMap((server) => {
    const row = rows.server(server);
    return row?.instance === name ? [{ server, row }] : [];
  });
}

/**
 * Returns the status of an existing instance. Calls `stallsOf` only if every server that is not done waits.
 */
export function instanceStatus(view: View, name: string, stallsOf: StallsOf): InstanceStatus {
  const { desired, rows, now } = view;
  const isTerminating = !desired.invalid.has(name) && !desired.units.has(instanceAddress(name));
  const isSuspended =
    rows.read('recovery', RECOVERY) !== undefined ||
    [name, EVERY_INSTANCE].some((key) => suspendedUntil(rows.read('suspension', key), now) !== undefined);
  const awaitsApproval = rows.read('held', name) !== undefined;
  const facts = { isTerminating, isSuspended, isInvalid: desired.invalid.has(name), awaitsApproval };
  const states = recordedServers(view, name).map(({ server, row }) => ({ server, state: effectiveState(row) }));
  const waiting = states.filter(({ state }) => isWaiting(state)).map(({ server }) => server);
  const begun = new Set(states.map(({ state }) => state).filter((state) => !isWaiting(state)));
  const status = rollUp(facts, begun);
  if (waiting.length === 0 || status === 'In progress') return status;
  const withWaiting = rollUp(facts, [...begun, 'pending']);
  if (withWaiting !== 'In progress') return withWaiting;
  const stalls = stallsOf(waiting);
  return stalls === undefined ? withWaiting : rollUp(facts, [...begun, ...stalls]);
}

/** Returns the active document. For a new invalid instance: the part that could be read. */
function documentOf({ desired, rows }: View, name: string): Served<StackInstance> | undefined {
  const key = instanceAddress(name);
  const unit = desired.units.get(key) ?? desired.candidates.get(key);
  const file = unit?.entry ?? rows.read('terminating', name);
  if (file === undefined) return undefined;
  return { body: { ...blankInstance(name), ...(file.object ?? {}) }, oid: file.oid || null };
}

function blankInstance(name: string): StackInstance {
  return {
    name,
    type: 'stack-instance',
    description: '',
    stackTemplate: '',
    stackTemplateAdditions: {},
    stackTemplateSubstractions: {},
    parameters: {},
  };
}

/** The scope of the client, and the advice if the name belongs to a server. */
interface AskedInstance {
  readonly scope: Scope;
  readonly advice?: string;
}

/**
 * Returns the error for an unknown instance. If a server has that name, the error names its instance and the advice;
 * otherwise the nearest name.
 */
export function unknownInstance(view: View, name: string, { scope, advice = '' }: AskedInstance): ServiceError {
  const owner = scope.seesServer(name) ? view.rows.server(name)?.instance : undefined;
  const words = `There is no stack instance "${name}"`;
  if (owner !== undefined) {
    return new ServiceError('not_found', `${words}; it is a server of the instance "${owner}"${advice}`);
  }
  return new ServiceError('not_found', withSuggestion(words, name, scope.suggested(instanceNames(view))));
}

/** Throws `not_found` unless the client sees an instance of that name. */
export function requireInstance(view: View, name: string, asked: AskedInstance): void {
  if (!asked.scope.seesInstance(name) || !hasInstance(view, name)) throw unknownInstance(view, name, asked);
}
