// Which keys are for secrets, and what their values may be. See docs/concepts.md, hierarchy.
import type { Hierarchy } from '../model/objects.ts';
import type { RecordValue } from '../model/record.ts';
import type { Layer } from './node.ts';

export interface Secrets {
  readonly isSecret: (key: string) => boolean;
  /** Returns the keys of a layer that are for secrets and hold something else than a reference. */
  readonly exposedIn: (layer: Layer) => readonly string[];
  /** The pattern of a reference, for hints. */
  readonly reference: string;
}

const compiled = new WeakMap<Hierarchy, Secrets>();

/**
 * Returns what a hierarchy says of secrets; without `secrets`, no key is for one. The patterns are known to compile. They
 * are searched for, not anchored, like those of JSON Schema.
 */
export function secretsOf(hierarchy: Hierarchy): Secrets {
  const known = compiled.get(hierarchy);
  if (known !== undefined) return known;
  const secrets = compile(hierarchy.secrets ?? { keys: [], reference: '' });
  compiled.set(hierarchy, secrets);
  return secrets;
}

function compile({ keys, reference }: NonNullable<Hierarchy['secrets']>): Secrets {
  const keyPatterns = keys.map((key) => new RegExp(key, 'u'));
  const referencePattern = new RegExp(reference, 'u');
  // Thousands of nodes share a layer; its keys are matched once.
  const exposed = new WeakMap<Layer, readonly string[]>();
  function isSecret(key: string): boolean {
    return keyPatterns.some((pattern) => pattern.test(key));
  }
  function isReference(value: RecordValue): boolean {
    const references = typeof value === 'object' ? value : [value];
    return references.every((one) => typeof one === 'string' && referencePattern.test(one));
  }
  function exposedIn(layer: Layer): readonly string[] {
    const known = exposed.get(layer);
    if (known !== undefined) return known;
    const entries = Object.entries(layer.values);
    const found = entries.filter(([key, value]) => value !== null && isSecret(key) && !isReference(value));
    const foundKeys = found.map(([key]) => key);
    exposed.set(layer, foundKeys);
    return foundKeys;
  }
  return { isSecret, exposedIn, reference };
}
