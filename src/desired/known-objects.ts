// Lists the active objects of files: those that an unreadable commit must not remove.

import { HIERARCHY_FILE } from '../catalog/paths.ts';
import type { ActivePath } from '../catalog/unreadable.ts';
import { splitAddress } from '../model/address.ts';
import { isPlainTypeName } from '../model/names.ts';
import type { Baseline } from './desired-state.ts';

/** Yields every active object with the path that it was read from; some of them twice. */
export function* knownObjects({ units, objects, clients, hasHierarchy }: Baseline): Generator<ActivePath> {
  for (const { type, name, entry } of units.values()) {
    yield { type, name, path: entry.path };
  }
  for (const [address, { entry }] of objects) {
    const [type, name] = splitAddress(address);
    if (isPlainTypeName(type) || type === 'stack-template') yield { type, name, path: entry.path };
  }
  for (const [serial, { entry }] of clients) yield { type: 'client', name: serial, path: entry.path };
  if (hasHierarchy) yield { type: 'hierarchy', name: 'hierarchy', path: HIERARCHY_FILE };
}
