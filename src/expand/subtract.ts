// Removes from a map what another map of the same shape names. A leaf removes the key where it stands.
import { below } from '../model/entry.ts';
import { emptyMap, isMap, type Json, type JsonMap } from '../model/json.ts';

interface Subtracted {
  readonly value: JsonMap;
  /** The pointers of removed keys. */
  readonly removed: ReadonlySet<string>;
  /** Pointers that name nothing, with the keys that are there instead. */
  readonly missing: ReadonlyMap<string, readonly string[]>;
  /** Pointers at which something stands that is neither a map nor a leaf. */
  readonly notLeaves: ReadonlyMap<string, Json>;
}

interface Walk {
  readonly removed: Set<string>;
  readonly missing: Map<string, readonly string[]>;
  readonly notLeaves: Map<string, Json>;
}

/** Returns `whole` without what `named` names, and what came of each name. Neither map is changed. */
export function subtract(whole: JsonMap, named: JsonMap): Subtracted {
  const walk: Walk = { removed: new Set(), missing: new Map(), notLeaves: new Map() };
  return { value: walkMap(whole, named, { ...walk, pointer: '' }), ...walk };
}

/** Returns true for what removes the key where it stands: `{}`, `null`, `""` and `true`. */
export function isLeaf(value: Json): boolean {
  return value === null || value === '' || value === true || (isMap(value) && Object.keys(value).length === 0);
}

function walkMap(whole: JsonMap, named: JsonMap, walk: Walk & { readonly pointer: string }): JsonMap {
  const left = Object.assign(emptyMap(), whole);
  for (const [key, value] of Object.entries(named)) {
    const pointer = below(walk.pointer, key);
    const present = left[key];
    if (present === undefined) {
      walk.missing.set(pointer, Object.keys(whole));
    } else if (isLeaf(value)) {
      delete left[key];
      walk.removed.add(pointer);
    } else if (!isMap(value)) {
      walk.notLeaves.set(pointer, value);
    } else if (isMap(present)) {
      left[key] = walkMap(present, value, { ...walk, pointer });
    } else {
      // A value that is no map contains nothing: each name below it is missing.
      walkMap(emptyMap(), value, { ...walk, pointer });
    }
  }
  return left;
}
