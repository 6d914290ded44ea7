// Objects read by name answer their last right version: this keeps it while the newest one is wrong.
import type { Catalog } from '../catalog/catalog.ts';
import { type Entry, isRight } from '../model/entry.ts';
import type { StackTemplate } from '../model/objects.ts';
import { isClean } from '../model/problem.ts';
import type { Estate, InForce, Kept } from './estate.ts';

/** Returns templates and typed objects by `<type>/<name>`. A removed file is gone, a wrong one leaves what was before. */
export function objectsInForce(
  catalog: Catalog,
  templateProblems: Estate['templateProblems'],
  before: InForce<unknown>,
): InForce<unknown> {
  const objects = new Map<string, Kept<unknown>>();
  const keep = (address: string, entry: Entry<unknown>, isSound: boolean): void => {
    const held = isSound ? { entry, commit: catalog.commit } : before.get(address);
    if (held !== undefined) objects.set(address, held);
  };
  const isSoundTemplate = (entry: Entry<StackTemplate>): boolean =>
    isRight(entry) && isClean(templateProblems.get(entry) ?? []);
  for (const [name, entry] of catalog.templates) keep(`stack-template/${name}`, entry, isSoundTemplate(entry));
  for (const [address, entry] of catalog.objects) keep(address, entry, isRight(entry));
  return objects;
}
