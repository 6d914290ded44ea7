// Completes settings by their schema. The schema is the only place of the defaults.
import { resolve } from 'node:path';
import { isMap, type Json, type JsonMap } from '../model/json.ts';

/**
 * Returns a checked value with every key that its schema allows: as it is written, with the default, or null. A path
 * (`isPath`) is taken from `base`. A group that is left out is completed if it has defaults and requires nothing.
 */
export function complete(schema: JsonMap, written: Json | undefined, base: string): Json {
  const { properties, items, isPath } = schema;
  const value = written ?? schema.default ?? (hasDefaults(schema) ? {} : null);
  if (isMap(properties) && isMap(value)) {
    const keys = Object.entries(properties) as readonly [string, JsonMap][];
    return Object.fromEntries(keys.map(([key, child]) => [key, complete(child, value[key], base)]));
  }
  if (isMap(items) && Array.isArray(value)) return value.map((item: Json) => complete(items, item, base));
  return isPath === true && typeof value === 'string' ? resolve(base, value) : value;
}

function hasDefaults({ default: preset, required, properties }: JsonMap): boolean {
  if (preset !== undefined) return true;
  return (
    required === undefined &&
    isMap(properties) &&
    Object.values(properties).some((each) => hasDefaults(each as JsonMap))
  );
}
