// Builds from the rows what can be answered while nothing is active: a rewritten history waits for an approval, and the
// recorded head is lost.

import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import type { Unit } from '../desired/unit.ts';
import { instanceAddress, splitAddress } from '../model/address.ts';
import type { Client } from '../model/objects.ts';
import { ServiceError } from '../model/service-error.ts';
import type { PresentView, RecordedRows } from './recorded-rows.ts';

/** The facts that answers about the progress of instances are made of. */
export interface ProgressFacts extends Pick<DesiredState, 'commit' | 'invalid' | 'problems' | 'places'> {
  /** Without servers where only rows tell of a unit. */
  readonly units: ReadonlyMap<string, Pick<Unit, 'type' | 'name'> & Partial<Pick<Unit, 'servers'>>>;
  readonly clients: ReadonlyMap<string, { readonly entry: { readonly object: Pick<Client, 'description'> | null } }>;
}

/** The sources of a view. */
export interface ViewSources {
  /** The active desired state, or undefined before the first good commit. */
  readonly desired: () => DesiredState | undefined;
  /** The newest commit, if it is not followed. */
  readonly refused: () => RefusedCommit | undefined;
  readonly rows: RecordedRows;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Returns the view of the active desired state. Throws ServiceError `not_ready` while nothing is active. */
export function activeView({ desired: desiredOf, refused, rows, now }: ViewSources): PresentView<DesiredState> {
  const desired = desiredOf();
  if (desired !== undefined) return { desired, rows, now: now() };
  throw nothingActive(refused());
}

/** Returns what the rows tell while a commit is held and nothing is active; else undefined. */
export function heldView({ desired, refused, rows, now }: ViewSources): PresentView<ProgressFacts> | undefined {
  return desired() === undefined && refused()?.hold != null ? recordedView(rows, now()) : undefined;
}

/** Returns the error that says why nothing can be answered from a commit. */
function nothingActive(refused: RefusedCommit | undefined): ServiceError {
  if (refused === undefined || refused.hold === null) {
    return new ServiceError('not_ready', 'No good commit of the stacks repository has been read yet; try again soon');
  }
  const { commit, reason } = refused;
  const message = `The newest commit ${commit} is held: ${reason}. GET /operations/status says what to do`;
  return new ServiceError('not_ready', message);
}

/** Returns the facts as the rows tell them; undefined where no commit was ever followed. */
function recordedView(rows: RecordedRows, now: number): PresentView<ProgressFacts> | undefined {
  const head = rows.read('head', 'head');
  if (head === undefined) return undefined;
  const units = new Map<string, Pick<Unit, 'type' | 'name'>>();
  const add = (name: string): unknown => units.set(instanceAddress(name), { type: 'stack-instance', name });
  for (const { instance, wanted } of rows.list('server').values()) if (wanted !== null) add(instance);
  const clients = new Map<string, { readonly entry: { readonly object: Client } }>();
  for (const [address, { object }] of rows.list('active')) {
    const [type, name] = splitAddress(address);
    if (type === 'stack-instance') add(name);
    if (type === 'client') clients.set(name, { entry: { object: object as unknown as Client } });
  }
  const pinned = [...rows.list('pinned').keys()].map(splitAddress);
  const invalid = new Set(pinned.filter(([type]) => type === 'stack-instance').map(([, name]) => name));
  for (const instance of rows.list('held').keys()) invalid.delete(instance);
  return { desired: { commit: head.commit, units, clients, invalid, problems: [], places: new Map() }, rows, now };
}
