// Selects the registered clients of a commit. An invalid client file grants no access, but a commit never removes the
// last administrators.
import type { Catalog } from '../catalog/catalog.ts';
import { isValidEntry, problemAt } from '../model/entry.ts';
import type { Client } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { ActiveVersion, ActiveVersions } from './desired-state.ts';

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
  const kept = [...before].filter(([, { entry }]) => entry.object?.role === 'administrator');
  for (const [serial, held] of kept) clients.set(serial, held);
  return { clients, problems: kept.map(([serial, held]) => lastAdministrator(serial, held, catalog)) };
}

function hasAdministrator(clients: ActiveVersions<Client>): boolean {
  return [...clients.values()].some(({ entry }) => entry.object?.role === 'administrator');
}

function lastAdministrator(serial: string, kept: ActiveVersion<Client>, catalog: Catalog): Problem {
  return problemAt(catalog.clients.get(serial) ?? kept.entry, '/role', {
    code: 'last_administrator',
    message: `no administrator would be left; the client ${serial} stays one`,
    hint: 'register another administrator first',
  });
}
