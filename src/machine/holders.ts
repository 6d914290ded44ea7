// Orders deletes against the dependencies: finds servers that still need an unwanted one. docs/concepts.md,
// dependencies.
import { compareNames } from '../model/names.ts';
import type { ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';

/**
 * Returns true if a dependent with this row still needs `name`, so that `name` must not be deleted yet. An unwanted
 * server that only lists `name` does not need it: members of a group that list each other would wait forever.
 */
export function isHolding(name: string, row: ServerRow | undefined): boolean {
  const specs = row === undefined ? [] : specsInUse(row);
  return specs.length > 0 && (row?.wanted !== null || specs.some(({ dependsOn }) => includesSorted(dependsOn, name)));
}

/** Returns the applied spec, and the spec of the running action. */
export function specsInUse({ applied, action }: ServerRow): readonly Spec[] {
  return [applied, action?.spec].filter((spec) => spec != null);
}

/** Returns true if the sorted `names` include `name`. Uses binary search, because there may be thousands. */
function includesSorted(names: readonly string[], name: string): boolean {
  let first = 0;
  let end = names.length;
  while (first < end) {
    const middle = (first + end) >>> 1;
    if (compareNames(names[middle] ?? '', name) < 0) first = middle + 1;
    else end = middle;
  }
  return names[first] === name;
}
