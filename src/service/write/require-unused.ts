// Refuses to remove an object that something active selects. An environment, location or zone of the tree needs no
// object, so the removal causes no other mistake, but the servers that select it would change.

import type { DesiredState } from '../../desired/desired-state.ts';
import type { Unit } from '../../desired/unit.ts';
import { splitAddress } from '../../model/address.ts';
import { isMap } from '../../model/json.ts';
import { type ErrorDetail, ServiceError } from '../../model/service-error.ts';
import { usersText } from './refusal.ts';

/** Throws ServiceError `conflict` with the users where something active selects the object at an address. */
export function requireUnused({ units, catalog }: DesiredState, address: string): void {
  const [type, name] = splitAddress(address);
  const users = [...units.values()].filter((unit) => selects(unit, type, name));
  const isRoot = type === 'common' && catalog.tree.object?.name === name;
  if (users.length === 0 && !isRoot) return;
  const instances = users.filter(({ type }) => type === 'stack-instance').map((unit) => unit.name);
  const files = users.filter(({ type }) => type === 'clientcert').map(({ entry }) => entry.path);
  const message = `${address} is still in use by ${usersText(instances, isRoot ? [...files, catalog.tree.path] : files)}`;
  throw new ServiceError('conflict', message, users.map(detailOf));
}

/** By the properties of a server, or by the keys of a clientcert that no stack makes. */
function selects({ type: own, entry, servers }: Unit, type: string, name: string): boolean {
  if (own === 'clientcert')
    return isMap(entry.object) && Object.hasOwn(entry.object, type) && entry.object[type] === name;
  return servers
    .values()
    .some(({ spec: { properties } }) => Object.hasOwn(properties, type) && properties[type] === name);
}

function detailOf({ entry: { path, locate } }: Unit): ErrorDetail {
  return { file: path, ...locate(''), pointer: '', message: 'it is used here' };
}
