// Who may come in. A client file that is wrong admits nobody, but the last administrators are never locked out by a file.
import type { Catalog } from '../catalog/catalog.ts';
import { isValidEntry, problemAt } from '../model/entry.ts';
import type { Client } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { InForce, Kept } from './desired-state.ts';

export interface Registry {
  readonly clients: InForce<Client>;
  readonly problems: readonly Problem[];
}

/**
 * Returns the clients in force after this commit, by canonical serial. Where it would leave no administrator, all
 * administrators of before stay as they were, and that is a problem.
 */
export function registerClients(catalog: Catalog, before: InForce<Client>): Registry {
  const clients = new Map<string, Kept<Client>>();
  for (const [serial, entry] of catalog.clients) {
    if (isValidEntry(entry)) clients.set(serial, { entry, commit: catalog.commit });
  }
  if (hasAdministrator(clients)) return { clients, problems: [] };
  const kept = [...before].filter(([, { entry }]) => entry.object?.role === 'administrator');
  for (const [serial, held] of kept) clients.set(serial, held);
  return { clients, problems: kept.map(([serial, held]) => lastAdministrator(serial, held, catalog)) };
}

function hasAdministrator(clients: InForce<Client>): boolean {
  return [...clients.values()].some(({ entry }) => entry.object?.role === 'administrator');
}

function lastAdministrator(serial: string, kept: Kept<Client>, catalog: Catalog): Problem {
  return problemAt(catalog.clients.get(serial) ?? kept.entry, '/role', {
    code: 'last_administrator',
    message: `no administrator would be left; the client ${serial} stays one`,
    hint: 'register another administrator first',
  });
}
