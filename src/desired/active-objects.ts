// Selects the active version of each object that is read by name: its last valid one while the newest one is invalid.
import type { Catalog } from '../catalog/catalog.ts';
import { type Entry, isValidEntry } from '../model/entry.ts';
import type { StackTemplate } from '../model/objects.ts';
import { hasNoErrors } from '../model/problem.ts';
import type { ActiveVersion, ActiveVersions, DesiredState } from './desired-state.ts';

/**
 * Returns templates and typed objects by `<type>/<name>`. A removed file is dropped; an invalid one keeps its previous
 * version.
 */
export function selectActiveObjects(
  catalog: Catalog,
  templateProblems: DesiredState['templateProblems'],
  before: ActiveVersions<unknown>,
): ActiveVersions<unknown> {
  const objects = new Map<string, ActiveVersion<unknown>>();
  const keep = (address: string, entry: Entry<unknown>, isValidUnit: boolean): void => {
    const held = isValidUnit ? { entry, commit: catalog.commit } : before.get(address);
    if (held !== undefined) objects.set(address, held);
  };
  const isValidTemplate = (entry: Entry<StackTemplate>): boolean =>
    isValidEntry(entry) && hasNoErrors(templateProblems.get(entry) ?? []);
  for (const [name, entry] of catalog.templates) keep(`stack-template/${name}`, entry, isValidTemplate(entry));
  for (const [address, entry] of catalog.objects) keep(address, entry, isValidEntry(entry));
  return objects;
}
