// Builds an instance of which only the servers are known, as where rows have them and no commit that can be read has.
import { compareNames } from '../model/names.ts';
import type { WantedServer } from '../model/spec.ts';
import type { Unit } from './unit.ts';

type KnownParts = Pick<Unit, 'name' | 'entry' | 'commit' | 'time'>;

/** Returns the instance with these servers, by name, and without nodes: their records are not known. */
export function unitOfServers(known: KnownParts, servers: ReadonlyMap<string, WantedServer>): Unit {
  const origin = { entry: known.entry, pointer: '' };
  const outside = [...servers.values()].flatMap(({ name: of, spec }) =>
    spec.dependsOn.filter((server) => !servers.has(server)).map((server) => ({ server, of, origin })),
  );
  const keys = [...new Set([...servers.values()].map(({ key }) => key))].sort(compareNames);
  const nothing = { nodes: new Map(), problems: [], inputs: new Map(), namesSeen: new Map() };
  return { type: 'stack-instance', ...known, keys, servers, outside, ...nothing };
}
