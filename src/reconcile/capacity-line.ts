// Queues servers that wait until a provider has capacity for one more call. Capacity is distributed round-robin: over
// provider entries, and within an entry over instances, so that none of them starves the others.
import { NameLine } from './name-line.ts';

/**
 * The waiting instances of one entry, and the servers of each. Instances without servers are dropped when they are
 * reached.
 */
interface ProviderLine {
  readonly instances: NameLine;
  readonly servers: Map<string, NameLine>;
}

/** The servers that wait for capacity, by provider entry and instance. */
export class CapacityLine {
  readonly #order = new NameLine();
  readonly #entries = new Map<string, ProviderLine>();

  /** Appends a server to its instance's line. */
  add(server: string, provider: string, instance: string): void {
    const entry = this.#entries.get(provider) ?? { instances: new NameLine(), servers: new Map<string, NameLine>() };
    const line = entry.servers.get(instance) ?? new NameLine();
    line.add(server);
    entry.servers.set(instance, line);
    entry.instances.add(instance);
    this.#entries.set(provider, entry);
    this.#order.add(provider);
  }

  /** Removes a server. */
  delete(server: string, provider: string, instance: string): void {
    this.#entries.get(provider)?.servers.get(instance)?.delete(server);
  }

  /** Returns true if a server waits for a provider with capacity, so that its turn is about to come. */
  hasNext(hasCapacity: (provider: string) => boolean): boolean {
    const isAwaited = ({ servers }: ProviderLine): boolean => servers.values().some(({ size }) => size > 0);
    return this.#entries.entries().some(([provider, entry]) => hasCapacity(provider) && isAwaited(entry));
  }

  /** Removes and returns the next server of a provider with capacity; undefined if there is none. */
  take(hasCapacity: (provider: string) => boolean): { readonly server: string; readonly provider: string } | undefined {
    for (let left = this.#order.size; left > 0; left -= 1) {
      const provider = this.#order.take() ?? '';
      const entry = this.#entries.get(provider);
      const server = entry !== undefined && hasCapacity(provider) ? takeFrom(entry) : undefined;
      if (entry !== undefined && entry.servers.size > 0) this.#order.add(provider);
      else this.#entries.delete(provider);
      if (server !== undefined) return { server, provider };
    }
    return undefined;
  }
}

function takeFrom({ instances, servers }: ProviderLine): string | undefined {
  for (let instance = instances.take(); instance !== undefined; instance = instances.take()) {
    const line = servers.get(instance);
    const server = line?.take();
    if (line !== undefined && line.size > 0) instances.add(instance);
    else servers.delete(instance);
    if (server !== undefined) return server;
  }
  return undefined;
}
