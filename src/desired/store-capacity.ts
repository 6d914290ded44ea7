// Limits the number of servers that one controller manages. docs/concepts.md, limits.
import { problemAt } from '../model/entry.ts';
import { compareNames } from '../model/names.ts';
import type { Baseline } from './desired-state.ts';
import type { Refusal, Unit } from './unit.ts';

/** The maximum number of servers of all instances together, including unwanted servers that are not deleted yet. */
export const ALL_SERVERS_MAX = 200_000;

/** The recorded servers at the time of admission. */
interface Recorded {
  readonly baseline: Pick<Baseline, 'units'>;
  /** Number of servers that no commit wants and that still have a row. */
  readonly unwanted: number;
}

/** Returns as few refusals as possible if the limit is exceeded: of the units that grow most. */
export function capacityRefusals(
  units: ReadonlyMap<string, Unit>,
  { baseline, unwanted }: Recorded,
  limit = ALL_SERVERS_MAX,
): Refusal[] {
  const servers = [...units.values()].reduce((sum, unit) => sum + unit.servers.size, unwanted);
  let over = servers - limit;
  if (over <= 0) return [];
  const growing = [...units].flatMap(([key, unit]) => {
    const growth = unit.servers.size - (baseline.units.get(key)?.servers.size ?? 0);
    return growth <= 0 ? [] : [{ key, unit, growth }];
  });
  const refused: Refusal[] = [];
  for (const { key, unit, growth } of growing.sort((a, b) => b.growth - a.growth || compareNames(a.key, b.key))) {
    if (over <= 0) break;
    refused.push(noCapacity(key, unit));
    over -= growth;
  }
  return refused;
}

/** Returns the refusal of an instance that exceeds the limit. */
export function noCapacity(key: string, unit: Unit): Refusal {
  const problem = problemAt(unit.entry, '/stackTemplate', {
    code: 'no_room',
    message: `with "${unit.name}" this controller would manage more than ${ALL_SERVERS_MAX.toLocaleString('en-US')} servers`,
    hint: 'remove other instances first, or let another controller follow a part of them',
    instances: [unit.name],
  });
  return { key, problem };
}
