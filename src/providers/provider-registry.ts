// Selects the provider entry that is responsible for a server: the first of the settings that matches, else that of
// proxies. Does not choose the proxy.
import type { Answer } from '../model/call-result.ts';
import { isSame } from '../model/json.ts';
import type { Properties } from '../model/objects.ts';
import type { ProviderSettings, ProxiedSettings } from '../model/settings.ts';
import type { Call, Provider, PulledProvider } from './provider.ts';

/** A provider and the settings for its calls. */
export type ProviderEntry = ProxiedSettings & { readonly provider: Provider };

/** The provider entries of the settings, in their order. */
export interface ProviderRegistry {
  /** Returns the first entry that matches the server's kind and properties, else the entry of proxies, if any. */
  match(server: MatchedServer): ProviderEntry | undefined;
  /** Returns the entry of a name; undefined if it is not in the settings. A row may name an entry that was removed. */
  byName(name: string): ProviderEntry | undefined;
  /** The entry of servers that match no other entry; undefined: these servers are blocked. */
  readonly proxied?: ProxiedEntry | undefined;
  /** Closes every provider, even if one of them fails; throws the first failure. */
  close(): Promise<void>;
}

/** The fields of a server by which entries match. */
export interface MatchedServer {
  readonly kind: string;
  readonly properties: Properties;
}

/** The entry of servers that proxies manage. */
export interface ProxiedEntry extends ProviderEntry {
  readonly provider: PulledProvider;
}

/**
 * Returns the registry of entries, whose names are distinct. `make` builds the provider of an entry. `proxied` is the
 * entry of servers that match no other.
 */
export function createProviderRegistry(
  settings: readonly ProviderSettings[],
  make: (entry: ProviderSettings) => Provider,
  proxied?: ProxiedSettings,
): ProviderRegistry {
  const entries = settings.map((entry) => ({ ...entry, provider: make(entry) }));
  const matches = entries.map((entry) => ({ entry, isMatch: matcherOf(entry.match) }));
  const rest: ProxiedEntry | undefined = proxied && { ...proxied, provider: createProxiedProvider() };
  const all: readonly ProviderEntry[] = rest === undefined ? entries : [...entries, rest];
  const named = new Map(all.map((entry) => [entry.name, entry]));
  return {
    match: (server) => matches.find(({ isMatch }) => isMatch(server))?.entry ?? rest,
    byName: (name) => named.get(name),
    proxied: rest,
    close: () => closeAll(all),
  };
}

/** Returns the entries in the form that operations need. */
export function entriesOf({ byName, match }: ProviderRegistry) {
  return {
    has: (name: string): boolean => byName(name) !== undefined,
    match: (server: MatchedServer): string | undefined => match(server)?.name,
  };
}

function matcherOf({ kind, properties }: ProviderSettings['match']): (server: MatchedServer) => boolean {
  const values = Object.entries(properties);
  return (server) => {
    if (kind !== null && kind !== server.kind) return false;
    return values.every(
      ([name, value]) => Object.hasOwn(server.properties, name) && isSame(server.properties[name], value),
    );
  };
}

async function closeAll(entries: readonly ProviderEntry[]): Promise<void> {
  const closed = await Promise.allSettled(entries.map(({ provider }) => provider.close()));
  const failed = closed.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/**
 * Returns the provider of servers that proxies manage. A call only waits for the report of a proxy;
 * agents/proxy-work.ts gives the calls to proxies and receives their reports. A call throws when its signal ends the
 * wait, although the proxy may still carry it out.
 */
function createProxiedProvider(): PulledProvider {
  const calls = new Map<string, { readonly call: Call; readonly answer: (answer: Answer) => void }>();

  async function perform(call: Call, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    calls.set(call.resource, { call, answer: resolve });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', stop);
      calls.delete(call.resource);
    }
  }

  return {
    lostActionEnds: 'after its deadline',
    isPulled: true,
    perform,
    callOf: (server) => calls.get(server)?.call,
    answer: (server, answer) => calls.get(server)?.answer(answer),
    close: () => Promise.resolve(),
  };
}
