// Tells which proxies are registered, and which servers a commit concerns by what it changes about proxies: registered
// clients, and the tags in records, which change without a row.
import type { DesiredState } from '../desired/desired-state.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { CurrentState } from './current-state.ts';

type Clients = DesiredState['clients'];

/** Returns a function that returns the tags of each registered proxy. */
export function registeredProxies(current: CurrentState): () => Iterable<readonly string[]> {
  const known = new WeakMap<Clients, readonly (readonly string[])[]>();
  return () => {
    const clients = current.get()?.clients;
    if (clients === undefined) return [];
    const proxies = known.get(clients) ?? proxyTagsIn(clients);
    known.set(clients, proxies);
    return proxies;
  };
}

/**
 * Yields the servers whose proxy may be another one after a commit: all of an instance that it changes, or of every
 * instance if other proxies are registered. None without `before`.
 */
export function* serversOfProxies(
  ledger: Pick<Ledger, 'list' | 'index'>,
  { before, desired }: { readonly before: DesiredState | undefined; readonly desired: DesiredState },
): Generator<string> {
  if (before === undefined) return;
  if (haveOtherTags(before.clients, desired.clients)) {
    yield* ledger.list('server').keys();
    return;
  }
  for (const [key, { type, name }] of desired.units) {
    const isChanged = before.units.get(key) !== desired.units.get(key);
    if (isChanged && type === 'stack-instance') yield* ledger.index.serversOf(name);
  }
}

function haveOtherTags(before: Clients, after: Clients): boolean {
  return before !== after && JSON.stringify(sortedTags(before)) !== JSON.stringify(sortedTags(after));
}

function sortedTags(clients: Clients): readonly string[] {
  return proxyTagsIn(clients)
    .map((tags) => JSON.stringify([...tags].sort()))
    .sort();
}

function proxyTagsIn(clients: Clients): readonly (readonly string[])[] {
  return [...clients.values()].flatMap(({ entry: { object } }) =>
    object?.role === 'proxy' ? [object.tags ?? []] : [],
  );
}
