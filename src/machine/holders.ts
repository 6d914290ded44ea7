// Deleting in reverse order: who still needs a server that nobody wants. docs/concepts.md, dependencies.
import { compareNames } from '../model/names.ts';
import type { ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';

/**
 * Returns the first server that still needs `name`, so that `name` must not be deleted yet. A server that only lists it
 * and is itself unwanted does not hold it up: members of a group that list one another would wait for ever.
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

/** Returns what is applied to a server, and what an action that runs is bringing about. */
export function specsInUse({ applied, action }: ServerRow): readonly Spec[] {
  return [applied, action?.spec].filter((spec) => spec != null);
}

/** Returns whether sorted names hold one, in as many looks as their number has binary digits: they may be thousands. */
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
