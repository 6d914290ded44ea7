// Orders deletes in reverse: finds the servers that still need an unwanted one. docs/concepts.md, dependencies.
import { compareNames } from '../model/names.ts';
import type { ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';

/**
 * Returns the first server that still needs `name`, so that `name` must not be deleted yet. An unwanted server that
 * only lists it is no holder: members of a group that list each other would wait for ever.
 */
export function firstHolder(
  name: string,
  dependents: Iterable<string>,
  rowOf: (server: string) => ServerRow | undefined,
): string | undefined {
  for (const dependent of dependents) {
    const row = dependent === name ? undefined : rowOf(dependent);
    const specs = row === undefined ? [] : specsInUse(row);
    if (specs.length === 0) continue;
    if (row?.wanted !== null || specs.some(({ dependsOn }) => includesSorted(dependsOn, name))) return dependent;
  }
  return undefined;
}

/** Returns the applied spec, and the spec of an action that runs. */
export function specsInUse({ applied, action }: ServerRow): readonly Spec[] {
  return [applied, action?.spec].filter((spec) => spec != null);
}

/** Returns true if the sorted `names` include `name`. Binary search, since there may be thousands. */
export function includesSorted(names: readonly string[], name: string): boolean {
  let first = 0;
  let end = names.length;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (compareNames(names[middle] ?? '', name) < 0) first = middle + 1;
    else end = middle;
  }
  return names[first] === name;
}
