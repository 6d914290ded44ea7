// Pairs the units and servers of two desired states. Skips units that are the same object on both sides, so the cost is
// proportional to the change.
import type { DesiredState } from '../desired/desired-state.ts';
import type { Unit } from '../desired/unit.ts';
import type { HieraNode } from '../hiera/node.ts';
import type { WantedServer } from '../model/spec.ts';

type Units = DesiredState['units'];

/** A unit before and after; undefined if there is none. */
export interface ChangedUnit {
  readonly before: Unit | undefined;
  readonly after: Unit | undefined;
}

/** One side of a server or node. */
interface Side<Part> {
  readonly unit: Unit;
  readonly part: Part;
}

/** A server or node by its name, before and after; undefined if there is none. */
interface ChangedPart<Part> {
  readonly name: string;
  readonly before: Side<Part> | undefined;
  readonly after: Side<Part> | undefined;
}

/** A server before and after. */
export type ChangedServer = ChangedPart<WantedServer>;
/** A node before and after. */
export type ChangedNode = ChangedPart<HieraNode>;

/** Returns the units that are not the same object on both sides. */
export function changedUnits(before: Units, after: Units): readonly ChangedUnit[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].flatMap((key) => {
    const [old, now] = [before.get(key), after.get(key)];
    return old === now ? [] : [{ before: old, after: now }];
  });
}

/** Returns the servers of these units. A server that moves between units is one pair. */
export function changedServers(units: readonly ChangedUnit[]): readonly ChangedServer[] {
  return pairs(units, ({ servers }) => servers);
}

/** Returns the nodes of these units. */
export function changedNodes(units: readonly ChangedUnit[]): readonly ChangedNode[] {
  return pairs(units, ({ nodes }) => nodes);
}

function pairs<Part>(
  units: readonly ChangedUnit[],
  partsOf: (unit: Unit) => ReadonlyMap<string, Part>,
): readonly ChangedPart<Part>[] {
  const before = sides(units.map((unit) => unit.before));
  const after = sides(units.map((unit) => unit.after));
  return [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    return { name, before: before.get(name), after: after.get(name) };
  });

  function sides(all: readonly (Unit | undefined)[]): ReadonlyMap<string, Side<Part>> {
    const found = new Map<string, Side<Part>>();
    for (const unit of all) {
      if (unit !== undefined) for (const [name, part] of partsOf(unit)) found.set(name, { unit, part });
    }
    return found;
  }
}
