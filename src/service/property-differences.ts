// Shows a drifted server's properties three ways: as applied, as observed, as wanted. See docs/rest.md, stack instances.
import { differingNames, shortenedValue } from '../machine/drift.ts';
import { fieldOf, type Json } from '../model/json.ts';
import type { ServerRow } from '../model/rows.ts';

/** One property in which a server differs from what is wanted. Long values are shortened. */
export interface PropertyDifference {
  readonly property: string;
  /** The value that the last action left; null: none. */
  readonly applied: Json;
  /** The value that the last check found. */
  readonly observed: Json;
  /** The value of the active commit; null: none, as the server is not wanted or the property is gone. */
  readonly wanted: Json;
}

/** Returns the known differences of a server, sorted by property; empty if there is none, or the server is gone. */
export function propertyDifferences({ applied, observed, wanted }: ServerRow): readonly PropertyDifference[] {
  return differingNames(observed).map((property) => ({
    property,
    applied: shortenedValue(fieldOf(applied?.properties ?? {}, property) ?? null),
    observed: fieldOf(observed ?? {}, property) ?? null,
    wanted: shortenedValue(fieldOf(wanted?.properties ?? {}, property) ?? null),
  }));
}
