// Tells which keys and values are for secrets, as the followed commit says.
import type { DesiredState } from '../desired/desired-state.ts';
import { type Secrets, secretsOf } from '../hiera/secrets.ts';
import { isValidEntry } from '../model/entry.ts';
import type { Json } from '../model/json.ts';
import type { CurrentState } from './current-state.ts';

/** Returns a function that tells whether a key is for a secret. Every key may be where nothing is active. */
export function activeSecrets(current: CurrentState): (key: string) => boolean {
  return (key) => secretRulesOf(current.get())?.isSecret(key) ?? true;
}

/** Returns a function that tells whether a value is a reference to a secret. Every value may be where nothing is active. */
export function activeReferences(current: CurrentState): (value: Json) => boolean {
  return (value) => secretRulesOf(current.get())?.isReference(value) ?? true;
}

/** Returns the rules of a desired state; undefined where its hierarchy is not known. */
export function secretRulesOf(desired: Partial<Pick<DesiredState, 'catalog'>> | undefined): Secrets | undefined {
  const hierarchy = desired?.catalog?.hierarchy;
  return hierarchy !== undefined && isValidEntry(hierarchy) ? secretsOf(hierarchy.object) : undefined;
}
