// Counts the calls in flight, in total and by provider entry, and keeps the servers that wait for one in line: actions
// before routine checks, first come, first served. Calls of proxies run elsewhere, and take no capacity here.
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

/** What a call takes of the capacity. */
interface Use {
  readonly provider: string;
  /** A check of an idle server: such checks take at most half of the capacity. */
  readonly isRoutine: boolean;
}

/** The call of a server that was claimed and has not ended: all that this process knows about it. */
export interface CallInFlight extends Use {
  readonly claimed: ClockTimes;
  /** The proxy tags of the server that the proxy has which a check asks; omitted if it asks none. */
  readonly tags?: readonly string[] | undefined;
  /** Ends it without an answer. */
  readonly end: AbortController;
}

type CheckTraits = Partial<Pick<CallInFlight, 'isRoutine' | 'tags'>>;

/** The slots in use, and how many of them by routine checks. */
interface Count {
  all: number;
  routine: number;
}

/** One provider entry: its slots in use, and who waits for one. */
interface Entry {
  readonly inUse: Count;
  readonly actions: Set<string>;
  readonly checks: Set<string>;
}

/**
 * The slots for calls. A server keeps the slot of its last call until its next pass has decided: the create that
 * follows a check needs no other.
 */
export class Capacity {
  readonly #options: CapacityOptions;
  /** By server, the oldest first. */
  readonly #calls = new Map<string, CallInFlight>();
  /** By server, the slot that it has. */
  readonly #slots = new Map<string, Use>();
  readonly #entries = new Map<string, Entry>();
  /** By server that waits, its line. */
  readonly #lines = new Map<string, Set<string>>();
  readonly #total: Count = { all: 0, routine: 0 };
  #isClosed = false;

  constructor(options: CapacityOptions) {
    this.#options = options;
  }

  /** Number of calls in flight that run here. */
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

  /** Puts a server at the end of the line of a provider, unless it stands there already. */
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

  /**
   * Claims a slot for a call that starts once its intent is durable. No other call for this server may be claimed
   * meanwhile.
   */
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
    // Where only the limit of all entries is reached, it is the turn of the others next.
    const entry = this.#entry(provider);
    this.#entries.delete(provider);
    this.#entries.set(provider, entry);
  }

  /** Notes that a call has ended, or was not started. Its server keeps the slot until {@link release}. */
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
   * Returns how many calls of a provider may be claimed now: the turn of those that began to wait for another entry may
   * come before.
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
