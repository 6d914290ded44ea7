// Whether there is anything to delete: what was never made is forgotten without a loss. docs/concepts.md, the delete budget.
import type { ServerRow } from '../model/rows.ts';

/**
 * Returns true where a server was made or adopted, or a create of it runs or its outcome is lost. What a provider failed
 * to create does not count: nobody has ever used it.
 */
export function isMade({ provider, applied, action }: ServerRow): boolean {
  return provider !== null && (applied !== null || action?.operation === 'create');
}
