// Protection that a commit has lifted and that is made use of only later: remembered with what is held until then.
// docs/concepts.md, protected instances.
import { instanceAddress, nameAt } from '../model/address.ts';

/** What is remembered with deletes that are held. */
export interface Lifts {
  /** The instance itself was protected, and a commit has lifted that. */
  readonly isLifted?: boolean;
  /** Names of others of which the same is true, and that stay as they are while this one is held. */
  readonly lifts?: readonly string[];
}

/** Returns the keys of the units whose lifted protection is remembered, out of what is held by instance. */
export function liftsIn(held: Iterable<readonly [string, Lifts]>): ReadonlySet<string> {
  const names = [...held].flatMap(([instance, { isLifted = false, lifts = [] }]) => [
    ...(isLifted ? [instance] : []),
    ...lifts,
  ]);
  return new Set(names.map((name) => instanceAddress(name)));
}

/**
 * Returns what to remember with the deletes of an instance that are held. `unprotected`: keys of the units whose protection
 * is lifted. `waits`: whether an instance stays as it is and is not held itself.
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
