// Looking objects up while noting what was looked at: the reason why a commit costs only what changed.
// Knows nothing of what the objects mean.
import type { Catalog } from '../catalog/catalog.ts';
import type { Entry } from '../model/entry.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { StackTemplate, TreeNode, TypedObject } from '../model/objects.ts';
import type { Inputs } from './unit.ts';

/** A catalog that remembers every look, the vain ones included. */
export class Draw {
  readonly #catalog: Catalog;
  readonly #inputs = new Map<string, Entry<unknown> | undefined>();

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

  /** Notes that an entry was used that the caller had at hand. */
  use<Value>(address: string, entry: Entry<Value>): Entry<Value> {
    return this.#note(address, entry);
  }

  template(name: string): Entry<StackTemplate> | undefined {
    return this.#note(`stack-template/${name}`, this.#catalog.templates.get(name));
  }

  object(type: PlainTypeName, name: string): Entry<TypedObject> | undefined {
    return this.#note(`${type}/${name}`, this.#catalog.objects.get(`${type}/${name}`));
  }

  #note<Found extends Entry<unknown> | undefined>(address: string, entry: Found): Found {
    this.#inputs.set(address, entry);
    return entry;
  }
}

/** Returns true where every look would find the very same entries in `catalog`. */
export function drawsTheSame(inputs: Inputs, catalog: Catalog): boolean {
  for (const [address, entry] of inputs) {
    if (entryAt(catalog, address) !== entry) return false;
  }
  return true;
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

/** Splits `<type>/<name>`; a name holds no slash. */
export function splitAddress(address: string): [type: string, name: string] {
  const at = address.indexOf('/');
  return [address.slice(0, at), address.slice(at + 1)];
}
