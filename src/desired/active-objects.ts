// Objects read by name answer their last right version: this keeps it while the newest one is wrong.
import type { Catalog } from '../catalog/catalog.ts';
import { type Entry, isValidEntry } from '../model/entry.ts';
import type { StackTemplate } from '../model/objects.ts';
import { hasNoErrors } from '../model/problem.ts';
import type { DesiredState, InForce, Kept } from './desired-state.ts';

/** Returns templates and typed objects by `<type>/<name>`. A removed file is gone, a wrong one leaves what was before. */
export function objectsInForce(
  catalog: Catalog,
  templateProblems: DesiredState['templateProblems'],
  before: InForce<unknown>,
): InForce<unknown> {
  const objects = new Map<string, Kept<unknown>>();
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
