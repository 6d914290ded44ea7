// The unit that moves from commit to commit as a whole: an instance with its servers, or a hand-written clientcert.

import type { HieraNode } from '../hiera/node.ts';
import { addressOf } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { OutsideDependency } from '../model/expanded.ts';
import type { StackInstance, TypedObject } from '../model/objects.ts';
import { hasNoErrors, type Problem } from '../model/problem.ts';
import type { WantedServer } from '../model/spec.ts';
import type { NamedObjects } from './names-in.ts';

/** What the unit drew on, by address; undefined where nothing was there, so that a new file counts as a change too. */
export type Inputs = ReadonlyMap<string, Entry<unknown> | undefined>;

/** The names of all objects, by type, where a hint of the unit's problems was chosen from them. */
export type NamesSeen = ReadonlyMap<NamedObjects, readonly string[]>;

export interface Unit {
  readonly type: 'stack-instance' | 'clientcert';
  readonly name: string;
  /** Its own file. */
  readonly entry: Entry<StackInstance> | Entry<TypedObject>;
  /** The one commit that everything in it was computed from, and that commit's time. */
  readonly commit: string;
  readonly time: string;
  /** Resource keys in the order of the template. Empty for a clientcert. */
  readonly keys: readonly string[];
  readonly servers: ReadonlyMap<string, WantedServer>;
  readonly nodes: ReadonlyMap<string, HieraNode>;
  /** Dependencies on servers of other units, by the server that has them. */
  readonly outside: readonly (OutsideDependency & { readonly of: string })[];
  /** Everything wrong with it, problems of what it draws on included. */
  readonly problems: readonly Problem[];
  readonly inputs: Inputs;
  readonly namesSeen: NamesSeen;
}

/** A version that cannot come into force, and why. */
export interface Refusal {
  /** The address of its unit. */
  readonly key: string;
  readonly problem: Problem;
}

/** Returns the address of a unit: its key in every map of units. */
export function unitAddress({ type, name }: Pick<Unit, 'type' | 'name'>): string {
  return addressOf(type, name);
}

/** Returns true where the unit may come into force. */
export function isValidUnit(unit: Unit): boolean {
  return hasNoErrors(unit.problems);
}

/** Returns true where both were computed from the same files, whenever those were read. */
export function isSameVersion(a: Unit, b: Unit): boolean {
  if (a === b) return true;
  const addresses = [...a.inputs.keys()];
  return (
    a.inputs.size === b.inputs.size &&
    addresses.every((address) => b.inputs.has(address) && a.inputs.get(address)?.oid === b.inputs.get(address)?.oid)
  );
}

/** Returns true where no commit may take a server of the instance away, nor may one be replaced. */
export function isProtected({ entry: { object } }: Unit): boolean {
  return object !== null && 'protected' in object && object.protected === true;
}

/** Returns true where the instance leaves servers that it does not want any more as they are. */
export function isRetaining(unit: Unit | undefined): boolean {
  const object = unit?.entry.object ?? null;
  return object !== null && 'deletion' in object && object.deletion === 'retain';
}
