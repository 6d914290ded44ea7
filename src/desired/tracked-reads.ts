// Looking objects up while noting what was looked at: the reason why a commit costs only what changed.
// Knows nothing of what the objects mean.

import type { Catalog } from '../catalog/catalog.ts';
import { addressOf, splitAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { StackTemplate, TreeNode, TypedObject } from '../model/objects.ts';
import { isSameNames, type NamedObjects, namesIn } from './names-in.ts';
import type { Inputs, NamesSeen, Unit } from './unit.ts';

/** A catalog that remembers every look, the vain ones included. */
export class TrackedReads {
  readonly #catalog: Catalog;
  readonly #inputs = new Map<string, Entry<unknown> | undefined>();
  readonly #namesSeen = new Map<NamedObjects, readonly string[]>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
    this.#note('tree', catalog.tree);
    this.#note('hierarchy', catalog.hierarchy);
  }

  get tree(): TreeNode | null {
    return this.#catalog.tree.object;
  }

  get hierarchy(): Catalog['hierarchy'] {
    return this.#catalog.hierarchy;
  }

  get inputs(): Inputs {
    return this.#inputs;
  }

  get namesSeen(): NamesSeen {
    return this.#namesSeen;
  }

  /** Returns the names of all objects of a type, sorted, for suggestions; what comes to be said depends on them. */
  namesOf(type: NamedObjects): readonly string[] {
    const names = namesIn(this.#catalog, type);
    this.#namesSeen.set(type, names);
    return names;
  }

  /** Notes that an entry was used that the caller had at hand. */
  use<Value>(address: string, entry: Entry<Value>): Entry<Value> {
    return this.#note(address, entry);
  }

  template(name: string): Entry<StackTemplate> | undefined {
    return this.#note(`stack-template/${name}`, this.#catalog.templates.get(name));
  }

  object(type: PlainTypeName, name: string): Entry<TypedObject> | undefined {
    return this.#note(addressOf(type, name), this.#catalog.objects.get(addressOf(type, name)));
  }

  #note<Found extends Entry<unknown> | undefined>(address: string, entry: Found): Found {
    this.#inputs.set(address, entry);
    return entry;
  }
}

/** Returns true where every look would find the very same entries in `catalog`, and the same names. */
export function hasSameReads({ inputs, namesSeen }: Pick<Unit, 'inputs' | 'namesSeen'>, catalog: Catalog): boolean {
  for (const [address, entry] of inputs) {
    if (!isSameEntry(entryAt(catalog, address), entry)) return false;
  }
  return [...namesSeen].every(([type, names]) => isSameNames(namesIn(catalog, type), names));
}

/** A file that cannot be read has a new entry in each commit, which says the same as long as the file is the same. */
function isSameEntry(a: Entry<unknown> | undefined, b: Entry<unknown> | undefined): boolean {
  if (a === b || a === undefined || b === undefined) return a === b;
  if (a.object !== null || b.object !== null || a.path !== b.path || a.oid !== b.oid) return false;
  return a.problems.length === 1 && b.problems.length === 1 && a.problems[0]?.message === b.problems[0]?.message;
}

/** Returns the entry at an address: `tree`, `hierarchy`, or `<type>/<name>` for any type. */
export function entryAt(catalog: Catalog, address: string): Entry<unknown> | undefined {
  if (address === 'tree') return catalog.tree;
  if (address === 'hierarchy') return catalog.hierarchy;
  const [type, name] = splitAddress(address);
  if (type === 'stack-template') return catalog.templates.get(name);
  if (type === 'stack-instance') return catalog.instances.get(name);
  if (type === 'client') return catalog.clients.get(name);
  return catalog.objects.get(address);
}
