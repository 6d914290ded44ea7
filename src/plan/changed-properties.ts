// Compares two specs, and lists the properties that an action would apply to the server.
import { SECRET_VALUE } from '../hiera/secrets.ts';
import { isDescriptive } from '../machine/existence.ts';
import { unknownReads } from '../machine/read-outputs.ts';
import { fieldOf, isMap, isSame, type Json } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import { serversRead } from '../model/outputs.ts';
import type { OutputText, Spec } from '../model/spec.ts';
import { type Difference, knownAfterText } from './plan.ts';

/** Returns true for a key whose value is never shown. */
export type IsSecret = (key: string) => boolean;

/** A property or a key of a provisioning layer. */
export interface ChangedProperty extends Difference {
  /** The property, or `<type>.<key>`. */
  readonly name: string;
  /** The type of the layer; null: a property of the server. */
  readonly layer: string | null;
  readonly key: string;
}

/** Returns the differences of two specs that make an action, sorted by name; properties come before layers. */
export function changedProperties(before: Spec, after: Spec): readonly ChangedProperty[] {
  const quiet = new Set(after.configurationOnly);
  const own = differences(valuesOf(before), valuesOf(after))
    .map(withoutUnknown)
    .filter(({ key }) => !quiet.has(key) && !isDescriptive(key))
    .map((found) => ({ ...found, name: found.key, layer: null }));
  const types = [...new Set([...Object.keys(before.layers), ...Object.keys(after.layers)])].sort(compareNames);
  const layers = types.flatMap((type) =>
    differences(fieldOf(before.layers, type) ?? {}, fieldOf(after.layers, type) ?? {}).map((found) => {
      return { ...found, name: `${type}.${found.key}`, layer: type };
    }),
  );
  return [...own, ...layers];
}

/** Returns the properties of a new server whose values come from outputs. */
export function unknownProperties(spec: Spec): Readonly<Record<string, Difference>> {
  const unknown = differences({}, unknownReads(spec)).map(withoutUnknown);
  return Object.fromEntries(unknown.map(({ key, ...difference }) => [key, difference]));
}

function valuesOf(spec: Spec): Values {
  return spec.reads === undefined ? spec.properties : { ...spec.properties, ...unknownReads(spec) };
}

/** Replaces unknown values. Known properties are texts and lists, so a map is the reference of an unknown one. */
function withoutUnknown<Found extends Difference>(found: Found): Found {
  const [from, to] = [serversIn(found.from), serversIn(found.to)];
  return {
    ...found,
    ...(from && { from: knownAfterText(from) }),
    ...(to && { to: knownAfterText(to), knownAfter: to }),
  };
}

function serversIn(value: Json | null): readonly string[] | undefined {
  return isMap(value) ? serversRead(value as OutputText) : undefined;
}

/** Returns the differences by name, without values of secret keys. */
export function shownProperties(
  changed: readonly ChangedProperty[],
  isSecret: IsSecret,
): Readonly<Record<string, Difference>> {
  return Object.fromEntries(
    changed.map(({ name, key, from, to, knownAfter }) => [
      name,
      {
        ...(isSecret(key) ? { from: hidden(from), to: hidden(to) } : { from, to }),
        ...(knownAfter && { knownAfter }),
      },
    ]),
  );
}

/** Returns the text that replaces a secret value; null if there is no value. */
export function hidden(value: Json | null): string | null {
  return value === null ? null : SECRET_VALUE;
}

/** Values by name. */
export type Values = Readonly<Record<string, Json>>;

/** Returns the names whose values differ, sorted, with both values. */
export function differences(before: Values, after: Values): (Difference & { readonly key: string })[] {
  if (before === after) return [];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort(compareNames);
  return keys.flatMap((key) => {
    const [from, to] = [fieldOf(before, key), fieldOf(after, key)];
    return isSame(from, to) ? [] : [{ key, from: from ?? null, to: to ?? null }];
  });
}
