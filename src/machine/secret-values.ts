// Keeps the values of secrets out of rows, and so out of the store, records, events, logs and calls. Treeline knows
// references only; a program may report what a reference stands for. Pure; docs/decisions/0028-secrets.md.
import type { Answer } from '../model/call-result.ts';
import { emptyMap, fieldOf, isSame, type Json, type JsonMap } from '../model/json.ts';
import type { ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import type { SecretRules } from './call-outcome.ts';
import { driftReason, withoutObserved } from './drift.ts';
import { advance, type Moment } from './transitions.ts';

/** A value that a provider has reported. */
interface Reported {
  readonly name: string;
  readonly value: Json;
}

type Specs = readonly (Spec | null | undefined)[];

/**
 * Returns the answer without secrets: `observed` without keys that are for one and values in place of a reference,
 * `outputs` without keys that are for one and hold no reference. Every answer passes here before it reaches a row.
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
 * Returns the row without secrets that were no secrets yet when they were recorded; the same one if it has none. A value that
 * a check had found counts as not looked at; of one that was applied otherwise than it is wanted now, an update follows.
 */
export function withoutKnownSecrets(row: ServerRow, rules: SecretRules, when: Moment): ServerRow {
  const { wanted, applied } = row;
  const found = row.observed ?? {};
  const names = [found, row.outputs, applied?.properties ?? {}].flatMap((each) => Object.keys(each));
  // Most rows.
  if (Object.keys(found).length === 0 && !names.some((name) => rules.isSecret?.(name))) return row;
  const observed = filtered(found, (one) => !isOfSecret([wanted], one, rules));
  const outputs = filtered(row.outputs, (one) => !isPlainSecret(one, rules));
  const properties = emptyMap<string | readonly string[]>();
  for (const [name, value] of Object.entries(applied?.properties ?? {})) {
    const own = fieldOf(wanted?.properties ?? {}, name);
    if (Object.hasOwn(found, name) && !Object.hasOwn(observed, name) && own !== undefined) properties[name] = own;
    else if (isSame(own, value) || !isPlainSecret({ name, value }, rules)) properties[name] = value;
  }
  const hasNone = observed === found && outputs === row.outputs && isSame(properties, applied?.properties ?? {});
  if (hasNone) return row;
  const rest = { ...row, outputs, applied: applied && { ...applied, properties } };
  if (observed === found) return rest;
  if (Object.keys(observed).length > 0)
    return { ...rest, observed, reason: row.reason?.code === 'drifted' ? driftReason(observed) : row.reason };
  return row.state === 'drifted' ? advance(withoutObserved(rest), 'settle', when) : withoutObserved(rest);
}

/**
 * Returns true if a value of a property must not be kept: that of a secret, or what a reference in a spec stands for. A value
 * that a commit wants is in Git already.
 */
function isOfSecret(specs: Specs, { name, value }: Reported, { isSecret, isReference }: SecretRules): boolean {
  const known = specs.map((spec) => fieldOf<Json>(spec?.properties ?? {}, name)).filter((each) => each !== undefined);
  if (known.some((each) => isSame(each, value))) return false;
  if (isSecret?.(name) === true) return true;
  return known.some((each) => isReference?.(each) === true) && isReference?.(value) !== true;
}

/** Returns true if a property is for a secret, and the value is no reference to one. */
export function isPlainSecret({ name, value }: Reported, { isSecret, isReference }: SecretRules): boolean {
  return isSecret?.(name) === true && isReference?.(value) !== true;
}

/** Returns the entries that may stay; the same map if all may. */
function filtered(map: JsonMap, isKept: (one: Reported) => boolean): JsonMap {
  const entries = Object.entries(map);
  const kept = entries.filter(([name, value]) => isKept({ name, value }));
  return kept.length === entries.length ? map : Object.assign(emptyMap(), Object.fromEntries(kept));
}
