// Records lifted protections that take effect only later, together with the deletes that are held until then.
// docs/concepts.md, protected instances.
import { instanceAddress, nameAt } from '../model/address.ts';

/** The lifts recorded with held deletes. */
export interface Lifts {
  /** The instance itself was protected, and a commit has lifted that. */
  readonly isLifted?: boolean;
  /** Names of other instances whose protection was lifted too, and that are pinned while this one is held. */
  readonly lifts?: readonly string[];
}

/** Returns the keys of the units with a recorded lift, from the holds by instance. */
export function liftsIn(held: Iterable<readonly [string, Lifts]>): ReadonlySet<string> {
  const names = [...held].flatMap(([instance, { isLifted = false, lifts = [] }]) => [
    ...(isLifted ? [instance] : []),
    ...lifts,
  ]);
  return new Set(names.map((name) => instanceAddress(name)));
}

/**
 * Returns the lifts to record with the held deletes of an instance. `unprotected`: keys of the units whose protection
 * is lifted. `waits`: returns true if an instance is pinned and not held itself.
 */
export function liftsOf(
  instance: string,
  unprotected: ReadonlySet<string>,
  waits: (instance: string) => boolean,
): Lifts {
  const names = [...unprotected].map((key) => nameAt(key));
  const lifts = names.filter((name) => name !== instance && waits(name)).sort();
  return { ...(names.includes(instance) ? { isLifted: true } : {}), ...(lifts.length > 0 ? { lifts } : {}) };
}
