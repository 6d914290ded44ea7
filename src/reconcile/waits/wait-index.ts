// The index of waits: what every server waits for, and which servers wait for one thing, first come first. A waiting server
// waits for one thing at a time, so a change wakes only the servers it may concern. In memory only: after a start every server
// is enqueued once.
import { isSameWait, type Wait, waitLine } from '../../machine/wait.ts';
import { NameQueue, NameQueues } from './name-queue.ts';
import { ProxyOffers } from './proxy-offers.ts';

type Kind = Wait['kind'];
type HasCapacity = (provider: string, isRoutine: boolean) => boolean;

/** A server whose turn for capacity has come. */
interface Granted {
  readonly server: string;
  readonly provider: string;
  readonly isRoutine: boolean;
}

/** The wait of every server that waits, indexed by what it waits for. */
export class WaitIndex {
  /** Those of them that wait for a proxy, in the order in which proxies are offered their calls. */
  readonly offers = new ProxyOffers();
  readonly #waits = new Map<string, Wait>();
  /** The names of the servers that wait, by kind and line. */
  readonly #lines = new Map<Kind, NameQueues>();
  /** The turns for capacity: routine checks come after all actions. */
  readonly #turns = {
    actions: new CapacityTurns((provider, instance) => this.#firstFor({ provider, instance })),
    routine: new CapacityTurns((provider, instance) => this.#firstFor({ provider, instance, isRoutine: true })),
  };

  /** Returns the wait of a server; undefined if it does not wait. */
  get(name: string): Wait | undefined {
    return this.#waits.get(name);
  }

  /** Returns how many servers have a wait of that kind. */
  count(kind: Kind): number {
    return this.#lines.get(kind)?.size ?? 0;
  }

  /** Returns how many servers have a wait, by its kind. */
  counts(): ReadonlyMap<Kind, number> {
    return new Map([...this.#lines].map(([kind, { size }]) => [kind, size]));
  }

  /** Returns the lines of a kind in which servers wait: of `failures` the commits, of `instance` the instances. */
  lines(kind: Kind): readonly string[] {
    return [...(this.#lines.get(kind)?.keys() ?? [])];
  }

  /** Returns the first server of a line; undefined if none waits in it. */
  first(kind: Kind, line: string): string | undefined {
    return this.#lines.get(kind)?.first(line);
  }

  /**
   * Records the only wait of `name`. A server that already waits in the same line keeps its place. Returns true if it
   * is new in that line.
   */
  begin(name: string, wait: Wait): boolean {
    const before = this.#waits.get(name);
    if (before !== undefined && isSameWait(before, wait)) {
      this.#waits.set(name, wait);
      return false;
    }
    this.end(name);
    this.#waits.set(name, wait);
    const lines = this.#lines.get(wait.kind) ?? new NameQueues();
    this.#lines.set(wait.kind, lines);
    lines.add(waitLine(wait), name);
    if (wait.kind !== 'capacity') return true;
    if (wait.tags !== undefined) this.offers.add(name, wait.tags, wait);
    else this.#turns[wait.isRoutine ? 'routine' : 'actions'].add(wait.provider, wait.instance);
    return true;
  }

  /** Removes the wait of `name`. */
  end(name: string): void {
    const wait = this.#waits.get(name);
    if (wait === undefined) return;
    this.#waits.delete(name);
    this.#lines.get(wait.kind)?.delete(waitLine(wait), name);
    if (wait.kind === 'capacity' && wait.tags !== undefined) this.offers.delete(name, wait.tags);
  }

  /** Ends all waits of a line, and returns their servers. */
  endLine(kind: Kind, line: string): readonly string[] {
    const names = [...(this.#lines.get(kind)?.names(line) ?? [])];
    for (const name of names) this.end(name);
    return names;
  }

  /** Ends the wait of the next server that gets capacity, and returns it; undefined if there is none. */
  endNextForCapacity(hasCapacity: HasCapacity): Granted | undefined {
    const action = this.#turns.actions.next((provider) => hasCapacity(provider, false));
    const next = action ?? this.#turns.routine.next((provider) => hasCapacity(provider, true));
    if (next === undefined) return undefined;
    this.end(next.server);
    return { ...next, isRoutine: action === undefined };
  }

  /** Returns true if an action waits whose turn has come. */
  hasActionFor(hasCapacity: HasCapacity): boolean {
    return this.#turns.actions.hasNext((provider) => hasCapacity(provider, false));
  }

  #firstFor(call: { readonly provider: string; readonly instance: string; readonly isRoutine?: true }) {
    return this.first('capacity', waitLine({ kind: 'capacity', ...call }));
  }
}

/**
 * Whose turn for capacity it is: goes round over provider entries, and within an entry over instances, so that none of them
 * starves the others.
 */
class CapacityTurns {
  readonly #providers = new NameQueue();
  /** By provider entry. Instances of which no server waits any more are dropped when they are reached. */
  readonly #instances = new NameQueues();
  /** Returns the server of an instance that has waited longest for an entry. */
  readonly #firstFor: (provider: string, instance: string) => string | undefined;

  constructor(firstFor: (provider: string, instance: string) => string | undefined) {
    this.#firstFor = firstFor;
  }

  add(provider: string, instance: string): void {
    this.#providers.add(provider);
    this.#instances.add(provider, instance);
  }

  /** Returns true if a server waits for an entry with capacity, so that its turn is about to come. */
  hasNext(hasCapacity: (provider: string) => boolean): boolean {
    const isAwaited = (provider: string): boolean =>
      this.#instances.names(provider).some((instance) => this.#firstFor(provider, instance) !== undefined);
    return this.#providers.names().some((provider) => hasCapacity(provider) && isAwaited(provider));
  }

  /** Returns the next server of an entry with capacity, and passes the turn on; undefined if there is none. */
  next(hasCapacity: (provider: string) => boolean): Omit<Granted, 'isRoutine'> | undefined {
    for (let left = this.#providers.size; left > 0; left -= 1) {
      const provider = this.#providers.removeFirst() ?? '';
      const server = hasCapacity(provider) ? this.#nextFor(provider) : undefined;
      if (this.#instances.count(provider) > 0) this.#providers.add(provider);
      if (server !== undefined) return { server, provider };
    }
    return undefined;
  }

  #nextFor(provider: string): string | undefined {
    for (let instance = this.#instances.removeFirst(provider); instance !== undefined; ) {
      const server = this.#firstFor(provider, instance);
      if (server !== undefined) {
        this.#instances.add(provider, instance);
        return server;
      }
      instance = this.#instances.removeFirst(provider);
    }
    return undefined;
  }
}
