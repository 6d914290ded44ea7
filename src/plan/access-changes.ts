// Compares the registered clients of two desired states.
import type { DesiredState } from '../desired/desired-state.ts';
import { isSame, type Json } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { Client } from '../model/objects.ts';
import type { AccessChange } from './plan.ts';

type Clients = DesiredState['clients'];

/** Returns the clients that are added, removed or changed, by serial. */
export function accessChanges(before: Clients, after: Clients): readonly AccessChange[] {
  const serials = [...new Set([...before.keys(), ...after.keys()])].sort(compareNames);
  return serials.flatMap((serial) => {
    const [old, now] = [before.get(serial)?.entry.object, after.get(serial)?.entry.object];
    return changeOf(serial, old ?? undefined, now ?? undefined);
  });
}

function changeOf(serial: string, old: Client | undefined, now: Client | undefined): readonly AccessChange[] {
  const known = now ?? old;
  if (known === undefined) return [];
  const fields = old === undefined || now === undefined ? [] : changedFields(old, now);
  if (old !== undefined && now !== undefined && fields.length === 0) return [];
  const action = old === undefined ? 'add' : now === undefined ? 'remove' : 'change';
  const role = { from: old?.role ?? null, to: now?.role ?? null };
  return [{ action, serial, description: known.description, role, fields }];
}

function changedFields(old: Client, now: Client): readonly string[] {
  const [before, after] = [fieldsOf(old), fieldsOf(now)];
  const names = [...new Set([...before.keys(), ...after.keys()])].sort(compareNames);
  return names.filter((name) => !isSame(before.get(name), after.get(name)));
}

function fieldsOf(client: Client): ReadonlyMap<string, Json> {
  return new Map(Object.entries(client));
}
