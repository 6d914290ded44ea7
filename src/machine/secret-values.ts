// Keeps the values of secrets out of rows, and so out of the store, records, events, logs and calls. Treeline knows
// only references, but a program may report the secret itself. Pure; docs/decisions/0028-secrets.md.
import type { Answer } from '../model/call-result.ts';
import { emptyMap, fieldOf, isSame, type Json, type JsonMap } from '../model/json.ts';
import type { ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import type { SecretRules } from './call-outcome.ts';

/** A value that a provider has reported. */
interface Reported {
  readonly name: string;
  readonly value: Json;
}

type Specs = readonly (Spec | null | undefined)[];

/**
 * Returns the answer without secrets. Removes from `observed` secret keys and values in place of a reference, and from
 * `outputs` secret keys without a reference. Every answer passes here before it reaches a row.
 */
export function withoutSecrets(row: ServerRow, answer: Answer, rules: SecretRules): Answer {
  const specs = [row.action?.spec, row.wanted];
  return {
    ...answer,
    observed: filtered(answer.observed, (one) => !isOfSecret(specs, one, rules)),
    outputs: filtered(answer.outputs, (one) => !isPlainSecret(one, rules)),
  };
}

/**
 * Returns true if a value must not be kept: of a secret property, or in place of a reference in a spec. A value that a
 * spec has is in Git already.
 */
function isOfSecret(specs: Specs, { name, value }: Reported, { isSecret, isReference }: SecretRules): boolean {
  const known = specs.map((spec) => fieldOf<Json>(spec?.properties ?? {}, name)).filter((each) => each !== undefined);
  if (known.some((each) => isSame(each, value))) return false;
  if (isSecret?.(name) === true) return true;
  return known.some((each) => isReference?.(each) === true) && isReference?.(value) !== true;
}

/** Returns true if a property is for a secret, and the value is not a reference. */
export function isPlainSecret({ name, value }: Reported, { isSecret, isReference }: SecretRules): boolean {
  return isSecret?.(name) === true && isReference?.(value) !== true;
}

/** Returns the entries that `isKept` accepts; the same map if it accepts all. */
function filtered(map: JsonMap, isKept: (one: Reported) => boolean): JsonMap {
  const entries = Object.entries(map);
  const kept = entries.filter(([name, value]) => isKept({ name, value }));
  return kept.length === entries.length ? map : Object.assign(emptyMap(), Object.fromEntries(kept));
}
