// Whether a server has to be touched: wanted against applied, value by value. Pure.
import { emptyMap, isSame, type JsonMap } from '../model/json.ts';
import type { Spec } from '../model/spec.ts';

/** Properties that describe a server to people: a change of them starts no action. */
const DESCRIPTIVE: ReadonlySet<string> = new Set(['description']);

/**
 * The part of a spec that reaches the server by an action. docs/concepts.md, updates. `quiet` names properties that are
 * for configuration only: those of the wanted spec, also when looking at an applied one.
 */
export function provisionedPart(spec: Spec, quiet: readonly string[] = spec.configurationOnly): JsonMap {
  const properties = emptyMap();
  for (const [name, value] of Object.entries(spec.properties)) {
    if (!quiet.includes(name) && !DESCRIPTIVE.has(name)) properties[name] = value;
  }
  return { kind: spec.kind, properties, layers: spec.layers };
}

/** Returns true where nothing that `wanted` asks for needs an action on a server that was left as `applied`. */
export function needsNoAction(wanted: Spec, applied: Spec): boolean {
  const quiet = wanted.configurationOnly;
  return wanted === applied || isSame(provisionedPart(wanted, quiet), provisionedPart(applied, quiet));
}

/** Returns true where the two differ in nothing at all, order of dependencies included. */
export function isSameSpec(a: Spec, b: Spec): boolean {
  return a === b || isSame(asJson(a), asJson(b));
}

/** The names of the properties of `wanted` that `observed` holds with another value, sorted. */
export function differingProperties(wanted: Spec, observed: JsonMap): string[] {
  return Object.keys(observed)
    .filter((name) => Object.hasOwn(wanted.properties, name) && !isSame(wanted.properties[name], observed[name]))
    .sort();
}

function asJson(spec: Spec): JsonMap {
  return { ...spec };
}
