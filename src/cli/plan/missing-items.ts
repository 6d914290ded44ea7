// Compares lists by their items.
import type { Json } from '../../model/json.ts';

/** Returns the items that others do not have. The time is linear: a list of one file may have 50,000 items. */
export function missingIn(items: readonly Json[], others: readonly Json[]): readonly Json[] {
  const known = new Set(others.map((other) => JSON.stringify(other)));
  return items.filter((item) => !known.has(JSON.stringify(item)));
}
