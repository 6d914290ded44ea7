// Tells which keys hold secrets, and checks their values. See docs/concepts.md, hierarchy.

import { compilePatterns, type PatternList } from '../base/pattern.ts';
import type { Json } from '../model/json.ts';
import type { Hierarchy } from '../model/objects.ts';
import type { Layer } from './node.ts';

/** Stands for a value of a secret key that is not shown. */
export const SECRET_VALUE = '(secret)';

/** The rules of hierarchy.yaml for secrets. */
export interface Secrets {
  readonly isSecret: (key: string) => boolean;
  /** Returns true if a value is a reference, or a list of references. */
  readonly isReference: (value: Json) => boolean;
  readonly check: (layer: Layer) => SecretsCheck;
  /** The pattern of a reference, for hints. */
  readonly reference: string;
}

/** The secrets of a layer. */
interface SecretsCheck {
  /** The keys whose value is something else than a reference. */
  readonly exposed: readonly string[];
  /** The key at which checking stopped, as it would have taken too long; null where every key was checked. */
  readonly stoppedAt: string | null;
}

/** The longest text that can be a reference, in characters. */
const REFERENCE_LENGTH_MAX = 1_000;

/**
 * The most that is spent on one layer: characters of its keys and references, times the instructions of the patterns. The
 * worst patterns take some 15 ns a step. With ten patterns of ten instructions it is enough for 100,000 characters.
 */
const STEPS_MAX = 10_000_000;

/** The number of keys that are remembered: few are different, however many servers there are. */
const KNOWN_KEYS_MAX = 10_000;

/** The result for every layer where no key is for a secret. */
const NO_SECRETS: SecretsCheck = { exposed: [], stoppedAt: null };

const compiled = new WeakMap<Hierarchy, Secrets>();

/**
 * Returns what a hierarchy says of secrets; without `secrets`, no key is for one. The patterns are known to compile. They
 * are searched for, not anchored, like those of JSON Schema.
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
  // Thousands of nodes share a layer; its keys are matched once.
  const checked = new WeakMap<Layer, SecretsCheck>();
  function isSecret(key: string): boolean {
    const known = knownKeys.get(key);
    if (known !== undefined) return known;
    const found = keyPatterns.isFoundIn(key);
    if (knownKeys.size < KNOWN_KEYS_MAX) knownKeys.set(key, found);
    return found;
  }
  function check(layer: Layer): SecretsCheck {
    if (keyPatterns.size === 0) return NO_SECRETS;
    const known = checked.get(layer);
    if (known !== undefined) return known;
    const result = checkLayer(layer, { isSecret, keySize: keyPatterns.size, referencePattern });
    checked.set(layer, result);
    return result;
  }
  function isReference(value: Json): boolean {
    return textsOf(value)?.every((text) => referencePattern.isFoundIn(text)) ?? false;
  }
  return { isSecret, isReference, check, reference };
}

interface Matching {
  readonly isSecret: (key: string) => boolean;
  /** See PatternList. */
  readonly keySize: number;
  readonly referencePattern: PatternList;
}

/** The result does not depend on which keys are remembered: a remembered one counts in full. */
function checkLayer({ values }: Layer, { isSecret, keySize, referencePattern }: Matching): SecretsCheck {
  const exposed: string[] = [];
  let steps = 0;
  for (const [key, value] of Object.entries(values)) {
    steps += key.length * keySize;
    if (steps > STEPS_MAX) return { exposed, stoppedAt: key };
    if (value === null || !isSecret(key)) continue;
    const texts = textsOf(value);
    if (texts === undefined) {
      exposed.push(key);
      continue;
    }
    steps += texts.reduce((sum, text) => sum + text.length, 0) * referencePattern.size;
    if (steps > STEPS_MAX) return { exposed, stoppedAt: key };
    if (!texts.every((text) => referencePattern.isFoundIn(text))) exposed.push(key);
  }
  return { exposed, stoppedAt: null };
}

/** Returns the texts of a value that may be references; undefined where one of them cannot be. */
function textsOf(value: Json): readonly string[] | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const texts = items.filter((item) => typeof item === 'string').filter((item) => item.length <= REFERENCE_LENGTH_MAX);
  return texts.length === items.length ? texts : undefined;
}
