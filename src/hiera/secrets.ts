// Decides which keys are for secrets, and checks their values. See docs/concepts.md, hierarchy.

import { compilePatterns } from '../base/pattern.ts';
import type { Json } from '../model/json.ts';
import type { Hierarchy } from '../model/objects.ts';
import type { Layer } from './node.ts';

/** Replaces a value of a secret key that is not shown. */
export const SECRET_VALUE = '(secret)';

/** The rules of hierarchy.yaml for secrets. */
export interface Secrets {
  readonly isSecret: (key: string) => boolean;
  /** Returns true if a value is a reference, or a list of references. */
  readonly isReference: (value: Json) => boolean;
  /** Returns the secret keys of a layer whose value is not a reference. */
  readonly exposedIn: (layer: Layer) => readonly string[];
  /** The pattern of a reference, for hints. */
  readonly reference: string;
}

/** The longest text that can be a reference, in characters. */
const REFERENCE_LENGTH_MAX = 1_000;

/** The most keys whose result is cached. Servers share most of their keys. */
const KNOWN_KEYS_MAX = 10_000;

const compiled = new WeakMap<Hierarchy, Secrets>();

/**
 * Returns the rules of a hierarchy for secrets. Without `secrets`, no key is for one. The patterns are known to
 * compile. Like those of JSON Schema, they are not anchored.
 */
export function compileSecrets(hierarchy: Hierarchy): Secrets {
  const known = compiled.get(hierarchy);
  if (known !== undefined) return known;
  const secrets = compile(hierarchy.secrets ?? { keys: [], reference: '' });
  compiled.set(hierarchy, secrets);
  return secrets;
}

function compile({ keys, reference }: NonNullable<Hierarchy['secrets']>): Secrets {
  const keyPatterns = compilePatterns(keys);
  const referencePattern = compilePatterns(keys.length === 0 ? [] : [reference]);
  const knownKeys = new Map<string, boolean>();
  // Thousands of nodes share a layer, so its keys are matched once.
  const checked = new WeakMap<Layer, readonly string[]>();
  function isSecret(key: string): boolean {
    const known = knownKeys.get(key);
    if (known !== undefined) return known;
    const found = keyPatterns.isFoundIn(key);
    if (knownKeys.size < KNOWN_KEYS_MAX) knownKeys.set(key, found);
    return found;
  }
  function exposedIn(layer: Layer): readonly string[] {
    if (keys.length === 0) return [];
    const known = checked.get(layer);
    if (known !== undefined) return known;
    const exposed = Object.entries(layer.values).flatMap(([key, value]) =>
      value === null || !isSecret(key) || isReference(value) ? [] : [key],
    );
    checked.set(layer, exposed);
    return exposed;
  }
  function isReference(value: Json): boolean {
    return textsOf(value)?.every((text) => referencePattern.isFoundIn(text)) ?? false;
  }
  return { isSecret, isReference, exposedIn, reference };
}

/** Returns the texts of a value if all of them may be references, else undefined. */
function textsOf(value: Json): readonly string[] | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const texts = items.filter((item) => typeof item === 'string').filter((item) => item.length <= REFERENCE_LENGTH_MAX);
  return texts.length === items.length ? texts : undefined;
}
