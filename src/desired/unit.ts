// Defines the unit that becomes active as a whole: an instance with its servers, or a hand-written clientcert.
import type { HieraNode } from '../hiera/node.ts';
import { asWritten } from '../machine/read-outputs.ts';
import { addressOf } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { OutsideDependency } from '../model/expanded.ts';
import { compareNames } from '../model/names.ts';
import type { StackInstance, TypedObject } from '../model/objects.ts';
import { hasNoErrors, type Problem } from '../model/problem.ts';
import type { WantedServer } from '../model/spec.ts';

/**
 * The tracked reads of the unit, by address. A missing object is undefined, so that adding its file counts as a change.
 */
export type Inputs = ReadonlyMap<string, Entry<unknown> | undefined>;

/** One version of a unit. Immutable. */
export interface Unit {
  readonly type: 'stack-instance' | 'clientcert';
  readonly name: string;
  /** Its own file. */
  readonly entry: Entry<StackInstance> | Entry<TypedObject>;
  /** The one commit from which the whole unit was computed, and that commit's time. */
  readonly commit: string;
  readonly time: string;
  /** Resource keys in the order of the template. Empty for a clientcert. */
  readonly keys: readonly string[];
  readonly servers: ReadonlyMap<string, WantedServer>;
  readonly nodes: ReadonlyMap<string, HieraNode>;
  /** Dependencies on servers of other units, by the server that depends on them. */
  readonly outside: readonly (OutsideDependency & { readonly of: string })[];
  /** All its problems, including those of the objects that it depends on. */
  readonly problems: readonly Problem[];
  readonly inputs: Inputs;
}

/** A version that cannot become active, and the reason. */
export interface Refusal {
  /** The address of its unit. */
  readonly key: string;
  readonly problem: Problem;
}

/** Returns the address of a unit: its key in every map of units. */
export function unitAddress({ type, name }: Pick<Unit, 'type' | 'name'>): string {
  return addressOf(type, name);
}

/** Returns true if the unit may become active. */
export function isValidUnit(unit: Unit): boolean {
  return hasNoErrors(unit.problems);
}

/** Returns true if both were computed from the same files, even in different commits. */
export function isSameVersion(a: Unit, b: Unit): boolean {
  if (a === b) return true;
  const addresses = [...a.inputs.keys()];
  return (
    a.inputs.size === b.inputs.size &&
    addresses.every((address) => b.inputs.has(address) && a.inputs.get(address)?.oid === b.inputs.get(address)?.oid)
  );
}

/** Returns true if no commit may remove or replace a server of the instance. */
export function isProtected({ entry: { object } }: Pick<Unit, 'entry'>): boolean {
  return object !== null && 'protected' in object && object.protected === true;
}

/** Returns true if the instance leaves unwanted servers as they are. */
export function isRetaining(unit: Pick<Unit, 'entry'> | undefined): boolean {
  const object = unit?.entry.object ?? null;
  return object !== null && 'deletion' in object && object.deletion === 'retain';
}

type KnownParts = Pick<Unit, 'name' | 'entry' | 'commit' | 'time'>;

/**
 * Returns an instance that is known only from the rows of its servers, because no readable commit has it. It has no
 * nodes, because their records are not known.
 */
export function unitOfServers(known: KnownParts, recorded: ReadonlyMap<string, WantedServer>): Unit {
  const servers = new Map([...recorded].map(([name, one]) => [name, { ...one, spec: asWritten(one.spec) }]));
  const origin = { entry: known.entry, pointer: '' };
  const outside = [...servers.values()].flatMap(({ name: of, spec }) =>
    spec.dependsOn.filter((server) => !servers.has(server)).map((server) => ({ server, of, origin })),
  );
  const keys = [...new Set([...servers.values()].map(({ key }) => key))].sort(compareNames);
  const nothing = { nodes: new Map(), problems: [], inputs: new Map() };
  return { type: 'stack-instance', ...known, keys, servers, outside, ...nothing };
}
