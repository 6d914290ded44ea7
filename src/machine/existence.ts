// Decides whether a row's server may exist, and whether it matches the wanted spec so that no action is needed. Pure.
// docs/concepts.md, updates and the delete budget.

import { emptyMap, isSame, type JsonMap } from '../model/json.ts';
import type { ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import { asWritten, unknownReads } from './read-outputs.ts';

/** Returns true if Treeline created or adopted the server, or began a create and no check has found it absent since. */
export function mayBeThere({ applied, mayExist }: ServerRow): boolean {
  return applied !== null || mayExist;
}

/**
 * Returns true if the server was created or adopted, or if a create runs or its outcome is lost. A failed create does
 * not count: that server was not in use.
 */
export function isMade({ provider, applied, action }: ServerRow): boolean {
  return provider !== null && (applied !== null || action?.operation === 'create');
}

/** Returns true if the existing server is known to match the wanted spec, so that no action is needed. */
export function isConverged({ wanted, applied, replacing, dirty, observed }: ServerRow): boolean {
  if (wanted === null || applied === null || replacing || dirty || observed !== undefined) return false;
  return needsNoAction(wanted, applied);
}

/**
 * Returns true if the server is to be deleted, permanently or for a replacement. It must have been created. A retained
 * server is not deleted, and a protected one is blocked instead of replaced.
 */
export function isBeingRemoved(row: ServerRow): boolean {
  const { wanted, applied, replacing, policy } = row;
  const isGoing = wanted === null ? policy.deletion === 'delete' : replacing && applied !== null && !policy.protected;
  return isGoing && isMade(row);
}

/** Properties that only describe a server. Changing them starts no action. */
const DESCRIPTIVE: ReadonlySet<string> = new Set(['description']);

/** Returns true if the property only describes the server. */
export function isDescriptive(property: string): boolean {
  return DESCRIPTIVE.has(property);
}

/**
 * Returns the part of a spec that an action applies to the server. docs/concepts.md, updates. `quiet` lists properties
 * that are only for configuration; for an applied spec, pass those of the wanted spec.
 */
export function provisionedPart(spec: Spec, quiet: readonly string[] = spec.configurationOnly): JsonMap {
  const properties = emptyMap();
  // An unknown output counts as a value of its own, so it differs from every value. Outputs that are only for
  // configuration do not count, because no action waits for them.
  const unknown = Object.entries(unknownReads(spec)).filter(([name]) => !spec.configurationOnly.includes(name));
  for (const [name, value] of [...unknown, ...Object.entries(spec.properties)]) {
    if (!quiet.includes(name) && !DESCRIPTIVE.has(name)) properties[name] = value;
  }
  return { kind: spec.kind, properties, layers: spec.layers };
}

/** Returns true if a server with the spec `applied` needs no action to satisfy `wanted`. */
export function needsNoAction(wanted: Spec, applied: Spec): boolean {
  if (wanted === applied || hasSameContent(wanted, applied)) return true;
  const quiet = wanted.configurationOnly;
  return isSame(provisionedPart(wanted, quiet), provisionedPart(applied, quiet));
}

/** Returns true if a commit and a row want the same, apart from values of outputs, or if neither wants the server. */
export function wantsTheSame(spec: Spec | undefined, wanted: Spec | null | undefined): boolean {
  if (spec === undefined || wanted == null) return spec === undefined && wanted == null;
  return needsNoAction(spec, asWritten(wanted));
}

/** A fast path: most specs are equal as a whole, so their provisioned parts need not be computed. */
function hasSameContent(a: Spec, b: Spec): boolean {
  const isKnown = a.reads === undefined && b.reads === undefined;
  return isKnown && a.kind === b.kind && isSame(a.layers, b.layers) && isSame(a.properties, b.properties);
}

/** Returns true if the two are equal, including the order of dependencies. */
export function isSameSpec(a: Spec, b: Spec): boolean {
  return a === b || isSame(asJson(a), asJson(b));
}

/** Returns the properties of `wanted` that have another value in `observed`, sorted. */
export function differingProperties(wanted: Spec, observed: JsonMap): string[] {
  return Object.keys(observed)
    .filter((name) => Object.hasOwn(wanted.properties, name) && !isSame(wanted.properties[name], observed[name]))
    .sort();
}

function asJson(spec: Spec): JsonMap {
  return { ...spec };
}
