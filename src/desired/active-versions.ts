// Selects the active versions of objects and clients. An object whose newest version is invalid stays at its last valid
// version. An invalid client file grants no access, but a commit never removes the last administrators. A commit that
// removes all instances or all clients is probably an accident, so it is held.
import type { Catalog } from '../catalog/catalog.ts';
import { HIERARCHY_FILE } from '../catalog/paths.ts';
import type { ActivePath } from '../catalog/unreadable.ts';
import { splitAddress } from '../model/address.ts';
import { type Entry, isValidEntry, problemAt } from '../model/entry.ts';
import { isFullAdministrator } from '../model/least-rights.ts';
import { isPlainTypeName } from '../model/names.ts';
import type { Client, StackTemplate } from '../model/objects.ts';
import { hasNoErrors, type Problem } from '../model/problem.ts';
import type { ActiveVersion, ActiveVersions, Baseline, DesiredState } from './desired-state.ts';

/**
 * Returns templates and typed objects by `<type>/<name>`. A removed file is dropped; an invalid one keeps its previous
 * version.
 */
export function selectActiveObjects(
  catalog: Catalog,
  templateProblems: DesiredState['templateProblems'],
  before: ActiveVersions<unknown>,
): ActiveVersions<unknown> {
  const objects = new Map<string, ActiveVersion<unknown>>();
  const keep = (address: string, entry: Entry<unknown>, isValidUnit: boolean): void => {
    const held = isValidUnit ? { entry, commit: catalog.commit } : before.get(address);
    if (held !== undefined) objects.set(address, held);
  };
  const isValidTemplate = (entry: Entry<StackTemplate>): boolean =>
    isValidEntry(entry) && hasNoErrors(templateProblems.get(entry) ?? []);
  for (const [name, entry] of catalog.templates) keep(`stack-template/${name}`, entry, isValidTemplate(entry));
  for (const [address, entry] of catalog.objects) keep(address, entry, isValidEntry(entry));
  return objects;
}

/** The active clients, and the problems of selecting them. */
interface Registry {
  readonly clients: ActiveVersions<Client>;
  readonly problems: readonly Problem[];
}

/**
 * Returns the active clients after this commit, by canonical serial. If it would leave no administrator, all previous
 * administrators stay registered, and that is reported as a problem.
 */
export function selectActiveClients(catalog: Catalog, before: ActiveVersions<Client>): Registry {
  const clients = new Map<string, ActiveVersion<Client>>();
  for (const [serial, entry] of catalog.clients) {
    if (isValidEntry(entry)) clients.set(serial, { entry, commit: catalog.commit });
  }
  if (hasAdministrator(clients)) return { clients, problems: [] };
  const kept = [...before].filter(([, { entry }]) => isFullAdministrator(entry.object));
  for (const [serial, held] of kept) clients.set(serial, held);
  return { clients, problems: kept.map(([serial, held]) => lastAdministrator(serial, held, catalog)) };
}

function hasAdministrator(clients: ActiveVersions<Client>): boolean {
  return [...clients.values()].some(({ entry }) => isFullAdministrator(entry.object));
}

function lastAdministrator(serial: string, kept: ActiveVersion<Client>, catalog: Catalog): Problem {
  return problemAt(catalog.clients.get(serial) ?? kept.entry, '/role', {
    code: 'last_administrator',
    message: `no administrator would be left; the client ${serial} stays one`,
    hint: 'register another administrator first',
  });
}

/**
 * Yields every active object except instances, with its path, so that a commit with unreadable files removes none. May
 * yield an object twice.
 */
export function* knownObjects({ units, objects, clients, hasHierarchy }: Baseline): Generator<ActivePath> {
  for (const { type, name, entry } of units.values()) {
    if (type !== 'stack-instance') yield { type, name, path: entry.path };
  }
  for (const [address, { entry }] of objects) {
    const [type, name] = splitAddress(address);
    if (isPlainTypeName(type) || type === 'stack-template') yield { type, name, path: entry.path };
  }
  for (const [serial, { entry }] of clients) yield { type: 'client', name: serial, path: entry.path };
  if (hasHierarchy) yield { type: 'hierarchy', name: 'hierarchy', path: HIERARCHY_FILE };
}

/** Returns the problem for which the commit is held, or undefined. docs/concepts.md, wrong commits. */
export function nothingLeft(catalog: Catalog, before: Baseline): Problem | undefined {
  // Paths, not active instances: the instances of an accepted commit may still wait for their deletes. A baseline from
  // rows has no paths.
  const hadInstances =
    before.places.size === 0
      ? [...before.units.values()].some((unit) => unit.type === 'stack-instance')
      : [...before.places.keys()].some((path) => path.startsWith('stacks/instances/'));
  if (hadInstances && catalog.instances.size === 0) return held('stacks/instances', 'no stack instance');
  if (before.clients.size > 0 && catalog.clients.size === 0) return held('clients', 'no client');
  return undefined;
}

function held(file: string, what: string): Problem {
  return {
    code: 'nothing_left',
    severity: 'error',
    file,
    line: 1,
    column: 1,
    pointer: '',
    message: `${what} would be left after this commit, so it is held and everything stays as it is`,
    hint: 'revert the commit, bring one back, or let it happen: "treeline held" shows the command',
    instances: [],
  };
}
