// Completes settings by their schema. The schema is the only place of the defaults, and says which texts are paths.
import { resolve } from 'node:path';
import { below } from '../model/entry.ts';
import { isMap, type Json, type JsonMap } from '../model/json.ts';
import type { SettingsFile } from '../model/settings.ts';

interface Completing {
  /** The directory in which relative paths begin. */
  readonly base: string;
  /** Gets the files that the settings name, but for those that the program makes. */
  readonly files?: SettingsFile[];
}

/**
 * Returns a checked value with every key that its schema allows: as it is written, with the default, or null. A group
 * that is left out is completed if it has defaults and requires nothing. `path` says what a path names: a file that is
 * read, a secret, or what the program makes.
 */
export function complete(schema: JsonMap, written: Json | undefined, completing: Completing, pointer = ''): Json {
  const { properties, items, path: kind } = schema;
  const value = written ?? schema.default ?? (hasDefaults(schema) ? {} : null);
  if (isMap(properties) && isMap(value)) {
    const keys = Object.entries(properties) as readonly [string, JsonMap][];
    return Object.fromEntries(
      keys.map(([key, child]) => [key, complete(child, value[key], completing, below(pointer, key))]),
    );
  }
  if (isMap(items) && Array.isArray(value)) {
    return value.map((item: Json, index) => complete(items, item, completing, below(pointer, index)));
  }
  if (kind === undefined || typeof value !== 'string') return value;
  const path = resolve(completing.base, value);
  const setting = pointer.slice(1).replaceAll('/', '.');
  if (kind !== 'made') completing.files?.push({ pointer, setting, path, isSecret: kind === 'secret' });
  return path;
}

function hasDefaults({ default: preset, required, properties }: JsonMap): boolean {
  if (preset !== undefined) return true;
  if (required !== undefined || !isMap(properties)) return false;
  return Object.values(properties).some((each) => hasDefaults(each as JsonMap));
}
