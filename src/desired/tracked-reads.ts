// Reads objects of a catalog and records each read, so that a commit rebuilds only the units whose reads have changed.

import type { Catalog } from '../catalog/catalog.ts';
import { addressOf, splitAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { StackTemplate, TreeNode, TypedObject } from '../model/objects.ts';
import type { Inputs, Unit } from './unit.ts';

/** A catalog view that records every read, including reads of missing objects. */
export class TrackedReads {
  readonly #catalog: Catalog;
  readonly #inputs = new Map<string, Entry<unknown> | undefined>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
    this.#track('tree', catalog.tree);
    this.#track('hierarchy', catalog.hierarchy);
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

  /** Records the use of an entry that the caller already has. */
  use<Value>(address: string, entry: Entry<Value>): Entry<Value> {
    return this.#track(address, entry);
  }

  template(name: string): Entry<StackTemplate> | undefined {
    return this.#track(`stack-template/${name}`, this.#catalog.templates.get(name));
  }

  object(type: PlainTypeName, name: string): Entry<TypedObject> | undefined {
    return this.#track(addressOf(type, name), this.#catalog.objects.get(addressOf(type, name)));
  }

  #track<Found extends Entry<unknown> | undefined>(address: string, entry: Found): Found {
    this.#inputs.set(address, entry);
    return entry;
  }
}

/** Returns true if every read would return the same entries in `catalog`. */
export function hasSameReads({ inputs }: Pick<Unit, 'inputs'>, catalog: Catalog): boolean {
  for (const [address, entry] of inputs) {
    if (entryAtAddress(catalog, address) !== entry) return false;
  }
  return true;
}

/** Returns the entry at an address: `tree`, `hierarchy`, or `<type>/<name>` for any type. */
export function entryAtAddress(catalog: Catalog, address: string): Entry<unknown> | undefined {
  if (address === 'tree') return catalog.tree;
  if (address === 'hierarchy') return catalog.hierarchy;
  const [type, name] = splitAddress(address);
  if (type === 'stack-template') return catalog.templates.get(name);
  if (type === 'stack-instance') return catalog.instances.get(name);
  if (type === 'client') return catalog.clients.get(name);
  return catalog.objects.get(address);
}
