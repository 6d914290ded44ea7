// Finds the units that depend on a server of another instance.
import type { Unit } from './unit.ts';

/** Returns, by server, the keys of the units that depend on it and do not make it. */
export function dependentsIn(units: ReadonlyMap<string, Unit>): ReadonlyMap<string, readonly string[]> {
  const dependents = new Map<string, string[]>();
  for (const [key, { outside }] of units) {
    for (const server of new Set(outside.map((one) => one.server))) {
      const known = dependents.get(server);
      if (known === undefined) dependents.set(server, [key]);
      else known.push(key);
    }
  }
  return dependents;
}
