// Counts the calls in flight, in total and by provider entry, and queues the servers that wait for one: actions before
// routine checks, first come, first served. Calls of proxies run elsewhere and take no capacity here.
import { type Clock, type ClockTimes, readClocks } from '../../base/clock.ts';
import { invariant } from '../../base/invariant.ts';

/** The limits of concurrent calls. */
export interface CapacityOptions {
  /** Concurrent calls over all provider entries. */
  readonly concurrency: number;
  /** Returns the number of concurrent calls of a provider entry. */
  readonly concurrencyOf: (provider: string) => number;
  /** Returns true if the calls of a provider entry run elsewhere. */
  readonly isPulled?: (provider: string) => boolean;
  readonly clock: Clock;
}

/** The capacity that a call uses. */
interface Use {
  readonly provider: string;
  /** A check of an idle server. Such checks take at most half of the capacity. */
  readonly isRoutine: boolean;
}

/** A call that was claimed and has not ended. */
export interface CallInFlight extends Use {
  readonly claimed: ClockTimes;
  /** Of a check by a proxy: the proxy tags of the server that the proxy also has. */
  readonly tags?: readonly string[] | undefined;
  /** Ends the call without an answer. */
  readonly end: AbortController;
}

type CheckTraits = Partial<Pick<CallInFlight, 'isRoutine' | 'tags'>>;

/** The number of slots in use, and of those in use by routine checks. */
interface Count {
  all: number;
  routine: number;
}

/** One provider entry: its slots in use, and the servers that wait for one. */
interface Entry {
  readonly inUse: Count;
  readonly actions: Set<string>;
  readonly checks: Set<string>;
}

/**
 * The slots for calls. A server keeps the slot of its last call until its next pass has decided, so that the create
 * after a check needs no new slot.
 */
export class Capacity {
  readonly #options: CapacityOptions;
  /** The calls in flight by server, oldest first. */
  readonly #calls = new Map<string, CallInFlight>();
  /** The slots by server. */
  readonly #slots = new Map<string, Use>();
  readonly #entries = new Map<string, Entry>();
  /** The lines by waiting server. */
  readonly #lines = new Map<string, Set<string>>();
  readonly #total: Count = { all: 0, routine: 0 };
  #isClosed = false;

  constructor(options: CapacityOptions) {
    this.#options = options;
  }

  /** The number of calls in flight that run in this process. */
  get inFlight(): number {
    return this.#calls
      .values()
      .filter(({ provider }) => !this.#isPulled(provider))
      .toArray().length;
  }

  /** Returns true if a call for this server was claimed and has not ended. */
  isInFlight(server: string): boolean {
    return this.#calls.has(server);
  }

  /** Returns the call in flight for this server; undefined if there is none. */
  callOf(server: string): CallInFlight | undefined {
    return this.#calls.get(server);
  }

  /** Returns the number of calls in flight of a provider entry. */
  runningOf(entry: string): number {
    return [...this.#calls.values()].filter(({ provider }) => provider === entry).length;
  }

  /** Returns the calls in flight by server, the oldest first. */
  calls(): ReadonlyMap<string, CallInFlight> {
    return this.#calls;
  }

  /** Returns true if the next call of a server may be claimed now. Routine checks take at most half of each limit. */
  mayClaim(server: string, provider: string, isRoutine = false): boolean {
    if (this.#isClosed) return false;
    if (this.#isPulled(provider)) return true;
    const own = this.#slots.get(server);
    if (own?.provider === provider && (own.isRoutine || !isRoutine)) return true;
    const { actions, checks } = this.#entry(provider);
    if (isRoutine && actions.size > 0) return false;
    const line = isRoutine ? checks : actions;
    const free = this.#free(provider, isRoutine);
    return line.has(server)
      ? line
          .values()
          .take(free)
          .some((each) => each === server)
      : line.size < free;
  }

  /** Returns true if a server waits in a line. */
  isWaiting(server: string): boolean {
    return this.#lines.has(server);
  }

  /** Puts a server at the end of the line of a provider, unless it is already in that line. */
  wait(server: string, { provider, isRoutine }: Use): void {
    const { actions, checks } = this.#entry(provider);
    const line = isRoutine ? checks : actions;
    if (this.#lines.get(server) !== line) this.leave(server);
    this.#lines.set(server, line);
    line.add(server);
  }

  /** Takes a server out of its line. */
  leave(server: string): void {
    this.#lines.get(server)?.delete(server);
    this.#lines.delete(server);
  }

  /** Returns the servers whose turn it is. */
  *next(): Generator<string> {
    if (this.#isClosed) return;
    for (const [provider, { actions, checks }] of this.#entries) {
      yield* actions.values().take(this.#free(provider, false)).toArray();
      if (actions.size === 0) yield* checks.values().take(this.#free(provider, true)).toArray();
    }
  }

  /** Claims a slot for a call that starts once its intent is durable. The server must have no other claimed call. */
  claim(server: string, provider: string, { isRoutine = false, tags }: CheckTraits = {}): void {
    invariant(!this.#calls.has(server), `two calls at once for ${server}`);
    this.leave(server);
    this.release(server);
    const { clock } = this.#options;
    const claimed = readClocks(clock);
    const call = { provider, isRoutine, tags, claimed, end: new AbortController() };
    this.#calls.set(server, call);
    if (this.#isPulled(provider)) return;
    this.#slots.set(server, call);
    this.#count(call, 1);
    // Moves the entry to the end, so that other entries get the next free slots of the total limit.
    const entry = this.#entry(provider);
    this.#entries.delete(provider);
    this.#entries.set(provider, entry);
  }

  /** Records that a call has ended, or was not started. Its server keeps the slot until {@link release}. */
  end(server: string): void {
    this.#calls.delete(server);
  }

  /** Gives back the slot of a server, unless a call is in flight. */
  release(server: string): void {
    const slot = this.#slots.get(server);
    if (slot === undefined || this.#calls.has(server)) return;
    this.#slots.delete(server);
    this.#count(slot, -1);
  }

  /** Accepts no more claims. */
  close(): void {
    this.#isClosed = true;
  }

  #isPulled(provider: string): boolean {
    return this.#options.isPulled?.(provider) ?? false;
  }

  #entry(provider: string): Entry {
    const known = this.#entries.get(provider);
    if (known !== undefined) return known;
    const entry = { inUse: { all: 0, routine: 0 }, actions: new Set<string>(), checks: new Set<string>() };
    this.#entries.set(provider, entry);
    return entry;
  }

  /**
   * Returns how many calls of a provider may be claimed now. Servers that wait for entries earlier in the order go
   * first.
   */
  #free(provider: string, isRoutine: boolean): number {
    const { concurrency, concurrencyOf } = this.#options;
    let ofAll = leftOf(concurrency, this.#total, isRoutine);
    for (const [other, { actions, inUse }] of this.#entries) {
      if (other === provider || ofAll <= 0) break;
      ofAll -= Math.min(actions.size, leftOf(concurrencyOf(other), inUse, false));
    }
    return Math.min(Math.max(0, ofAll), leftOf(concurrencyOf(provider), this.#entry(provider).inUse, isRoutine));
  }

  #count({ provider, isRoutine }: Use, by: number): void {
    for (const count of [this.#entry(provider).inUse, this.#total]) {
      count.all += by;
      if (isRoutine) count.routine += by;
    }
  }
}

function leftOf(limit: number, { all, routine }: Count, isRoutine: boolean): number {
  const left = limit - all;
  return Math.max(0, isRoutine ? Math.min(left, Math.max(1, Math.floor(limit / 2)) - routine) : left);
}
