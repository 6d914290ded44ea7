// Checks the values of a node's layers against the rules of hierarchy.yaml: what `unique` can join, and how secrets are
// written. See docs/concepts.md, merging.
import { below } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';
import { quote } from '../model/quote.ts';
import { problemInLayer } from './layers.ts';
import type { Layer, SelectableObjects } from './node.ts';
import { type Secrets, secretsOf } from './secrets.ts';

/** Returns a problem for every value that breaks a rule of the hierarchy. The value of a secret is never quoted. */
export function checkValues(layers: readonly Layer[], hierarchy: SelectableObjects['hierarchy']): readonly Problem[] {
  return [...checkUnique(layers, hierarchy), ...checkSecrets(layers, secretsOf(hierarchy.object))];
}

function* checkUnique(layers: readonly Layer[], hierarchy: SelectableObjects['hierarchy']): Generator<Problem> {
  const { isSecret } = secretsOf(hierarchy.object);
  for (const [key, rule] of Object.entries(hierarchy.object.merge)) {
    if (rule !== 'unique') continue;
    const list = layers.find(({ values }) => typeof values[key] === 'object' && values[key] !== null);
    for (const layer of layers) {
      const value = layer.values[key];
      if (value === undefined || value === null || typeof value === 'object') continue;
      const what = isSecret(key) ? 'this value' : quote(value);
      const { line } = hierarchy.locate(below('', 'merge', key), 'key');
      yield problemInLayer(layer, key, {
        code: 'unique_not_list',
        message: `"${key}" is merged as a list (${hierarchy.path}:${line}), and ${what} is none`,
        hint: isSecret(key) ? 'write a list of references' : `write ${quote([String(value)])}${listAt(list, key)}`,
      });
    }
  }
}

function listAt(list: Layer | undefined, key: string): string {
  const origin = list?.origin(key);
  if (origin === undefined || origin === null) return '';
  return `; it is a list at ${origin.entry.path}:${origin.entry.locate(origin.pointer, 'key').line}`;
}

/** Yields a problem for every key that is for a secret and holds something else than a reference; the value is not quoted. */
export function* checkSecrets(layers: readonly Layer[], { check, reference }: Secrets): Generator<Problem> {
  for (const layer of layers) {
    const { exposed, stoppedAt } = check(layer);
    if (stoppedAt !== null) yield tooMuch(layer, stoppedAt);
    for (const key of exposed) {
      yield problemInLayer(layer, key, {
        code: 'secret_not_reference',
        message: `"${key}" holds something else than a reference to a secret`,
        hint: `write a reference that matches ${reference}; a secret that was committed is known and has to be changed`,
      });
    }
  }
}

function tooMuch(layer: Layer, key: string): Problem {
  return problemInLayer(layer, key, {
    code: 'too_much_to_match',
    part: 'key',
    message: `from here on, the keys and references are too long to be compared with the patterns under "secrets"`,
    hint: 'divide the object, or make the patterns of hierarchy.yaml simpler: each character costs what they compile to',
  });
}
