// Finds new versions that close a cycle of dependencies over several instances.
import { problemAt } from '../model/entry.ts';
import { findCycles } from './find-cycles.ts';
import { circleText } from './refusal-texts.ts';
import { type Refusal, unitAddress } from './unit.ts';
import type { Versions } from './versions.ts';

/**
 * Returns a refusal of every new version in a cycle, located at the dependency that continues the cycle in another
 * instance.
 */
export function cycleRefusals(versions: Versions): readonly Refusal[] {
  const starts = [...versions.newest.values()].flatMap((unit) => unit.outside.map(({ of }) => of));
  const refused: Refusal[] = [];
  const gone = new Set<string>();
  const graph = {
    next: (server: string) => versions.makerOf(server)?.servers.get(server)?.spec.dependsOn ?? [],
    isGone: (server: string) => gone.has(versions.claims.ownerOf(server) ?? ''),
  };
  for (const cycle of findCycles(starts, graph)) {
    for (const refusal of refusalsOf(cycle, versions)) {
      refused.push(refusal);
      gone.add(refusal.key);
    }
  }
  return refused;
}

function refusalsOf(cycle: readonly string[], versions: Versions): readonly Refusal[] {
  return cycle.slice(0, -1).flatMap((server, position) => {
    const unit = versions.makerOf(server);
    const link = unit?.outside.find((one) => one.of === server && one.server === cycle[position + 1]);
    if (unit === undefined || link === undefined || !versions.isNew(unit)) return [];
    const { entry, pointer } = link.origin;
    const problem = problemAt(entry, pointer, { ...circleText(cycle), instances: [unit.name] });
    return [{ key: unitAddress(unit), problem }];
  });
}
