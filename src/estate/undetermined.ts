// Instances that are wrong in such a way that nobody can tell which servers they would make. Any server that goes by the
// same commit may be meant for one of them. docs/decisions/0050.
import { isSound, type Unit } from './unit.ts';

/** The versions of the files of undetermined instances, by unit key. */
export type Undetermined = ReadonlyMap<string, string>;

/** Instances that a reason names. */
const NAMED_MAX = 5;

/** Returns true where a wrong version of an instance does not even tell which servers it would make. */
export function isUndetermined(unit: Unit): boolean {
  return unit.kind === 'instance' && unit.servers.size === 0 && !isSound(unit);
}

/** Returns all such instances: the baseline of the next commit keeps them. */
export function undeterminedIn(candidates: ReadonlyMap<string, Unit>): Undetermined {
  return new Map(
    [...candidates].filter(([, unit]) => isUndetermined(unit)).map(([key, unit]) => [key, versionOf(unit)]),
  );
}

/** Returns true where an instance is undetermined and was not before, or was so with other files. `known`: those before. */
export function isNewlyUndetermined(key: string, unit: Unit, known: Undetermined): boolean {
  return isUndetermined(unit) && known.get(key) !== versionOf(unit);
}

/** Returns the reason for which the servers that a commit takes away are held. `names` of undetermined instances: at least one. */
export function undeterminedText(names: readonly string[]): string {
  const some = names.slice(0, NAMED_MAX).map((name) => `"${name}"`);
  const more = names.length > some.length ? ` and ${names.length - some.length} more` : '';
  const isOne = names.length === 1;
  return `${some.join(', ')}${more} ${isOne ? 'is' : 'are'} wrong in the commit that takes these servers away, and may be what takes them over`;
}

/** The ids of the files that say which servers an instance makes: its own, and its template. */
function versionOf({ entry, inputs }: Unit): string {
  const templates = [...inputs].filter(([address]) => address.startsWith('stack-template/'));
  return [entry.oid, ...templates.map(([address, template]) => `${address} ${template?.oid ?? ''}`)].join('\n');
}
