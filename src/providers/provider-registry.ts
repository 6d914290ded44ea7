// Selects the provider entry that is responsible for a server, from the operator's entries in their order. It does not
// decide about servers that match none.
import { isSame } from '../model/json.ts';
import type { Properties } from '../model/objects.ts';
import type { ProviderSettings } from '../settings.ts';
import type { Provider } from './provider.ts';

/** A provider and the settings for its calls. */
export type ProviderEntry = ProviderSettings & { readonly provider: Provider };

/** The provider entries of the settings, in their order. */
export interface ProviderRegistry {
  /** Returns the first entry that matches the server's kind and properties, or undefined. */
  match(server: MatchedServer): ProviderEntry | undefined;
  /**
   * Returns the entry of a name, or undefined if it is no longer in the settings, though a server's row may name it.
   */
  byName(name: string): ProviderEntry | undefined;
  /** Closes every provider, even if one of them fails; throws the first failure. */
  close(): Promise<void>;
}

/** The fields of a server that entries select by. */
export interface MatchedServer {
  readonly kind: string;
  readonly properties: Properties;
}

/** Returns the registry of entries with distinct names. `make` builds the provider of each. */
export function createProviderRegistry(
  settings: readonly ProviderSettings[],
  make: (entry: ProviderSettings) => Provider,
): ProviderRegistry {
  const entries: readonly ProviderEntry[] = settings.map((entry) => ({ ...entry, provider: make(entry) }));
  const named = new Map(entries.map((entry) => [entry.name, entry]));
  return {
    match: (server) => entries.find((entry) => isMatch(entry.match, server)),
    byName: (name) => named.get(name),
    close: () => closeAll(entries),
  };
}

function isMatch(match: ProviderSettings['match'], { kind, properties }: MatchedServer): boolean {
  if (match.kind !== null && match.kind !== kind) return false;
  return Object.entries(match.properties).every(
    ([name, value]) => Object.hasOwn(properties, name) && isSame(properties[name], value),
  );
}

async function closeAll(entries: readonly ProviderEntry[]): Promise<void> {
  const closed = await Promise.allSettled(entries.map(({ provider }) => provider.close()));
  const failed = closed.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
