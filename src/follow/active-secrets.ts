// Tells which keys hold secrets, as the followed commit says.
import { secretsOf } from '../hiera/secrets.ts';
import { isValidEntry } from '../model/entry.ts';
import type { CurrentState } from './current-state.ts';

/** Returns a function that tells whether a key holds a secret. None does where nothing is active. */
export function activeSecrets(current: CurrentState): (key: string) => boolean {
  return (key) => {
    const hierarchy = current.get()?.catalog.hierarchy;
    return hierarchy !== undefined && isValidEntry(hierarchy) && secretsOf(hierarchy.object).isSecret(key);
  };
}
