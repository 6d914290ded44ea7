// Counts the calls in flight, in total and by provider entry, and reserves capacity for servers that will claim it.
// Calls that run elsewhere take no capacity here; for each of them a proxy asks, and reserves it.
import { type Clock, type ClockTimes, readClocks } from '../../base/clock.ts';
import { invariant } from '../../base/invariant.ts';

/** The limits of concurrent calls. */
export interface CapacityOptions {
  /** Concurrent calls over all provider entries. */
  readonly concurrency: number;
  /** Returns the number of concurrent calls of a provider entry. */
  readonly concurrencyOf: (provider: string) => number;
  /** Returns true if the calls of a provider entry run elsewhere: it has capacity only where that is reserved. */
  readonly isPulled?: (provider: string) => boolean;
  readonly clock: Clock;
}

/** What a call, or the reservation for one, takes of the capacity. */
interface Use {
  readonly provider: string;
  /** A check of a server at rest: such checks take at most half of the capacity. */
  readonly isRoutine: boolean;
}

/** The calls that are claimed or reserved, and how many of them are routine checks. */
interface Count {
  all: number;
  routine: number;
}

/** The call of a server that was claimed and has not ended: all that this process knows about it. */
export interface CallInFlight extends Use {
  /** Larger than that of every call that was claimed before. */
  readonly number: number;
  readonly claimed: ClockTimes;
  /** The proxy tags of the server that the proxy has which a check asks; omitted if it asks none. */
  readonly tags?: readonly string[] | undefined;
  /** Ends it without an answer. */
  readonly end: AbortController;
}

/** The claims and reservations of calls. */
export class Capacity {
  readonly #options: CapacityOptions;
  /** By server, the oldest first. */
  readonly #calls = new Map<string, CallInFlight>();
  /** The reserved capacity of every server without a claimed call. */
  readonly #reserved = new Map<string, Use>();
  /** Claims and reservations by provider, and of all whose calls run here. */
  readonly #busy = new Map<string, Count>();
  readonly #total: Count = { all: 0, routine: 0 };
  /** Number of claimed calls that run here, and of all that were ever claimed. */
  #running = 0;
  #claims = 0;
  #isClosed = false;

  constructor(options: CapacityOptions) {
    this.#options = options;
  }

  /** Number of calls in flight that run here. */
  get inFlight(): number {
    return this.#running;
  }

  /** Returns true if a call for this server was claimed and has not ended. */
  isInFlight(server: string): boolean {
    return this.#calls.has(server);
  }

  /** Returns the call in flight for this server; undefined if there is none. */
  callOf(server: string): CallInFlight | undefined {
    return this.#calls.get(server);
  }

  /** Returns the calls in flight by server, the oldest first. */
  calls(): ReadonlyMap<string, CallInFlight> {
    return this.#calls;
  }

  /** The number of the call that was claimed last; 0 before the first one. */
  get lastNumber(): number {
    return this.#claims;
  }

  /**
   * Returns true if one more call of this provider may be claimed now; by `server`, which may have a reservation. Routine
   * checks take at most half of each limit.
   */
  hasCapacity(provider: string, { server = '', without = '', isRoutine = false }: CapacityRequest = {}): boolean {
    if (this.#isClosed) return false;
    const reserved = this.#reserved.get(server);
    if (reserved?.provider === provider && (reserved.isRoutine || !isRoutine)) return true;
    if (this.#isPulled(provider)) return false;
    const { concurrency, concurrencyOf } = this.#options;
    const released = this.#reserved.get(without)?.provider;
    const ofAll = released === undefined || this.#isPulled(released) ? 0 : 1;
    return (
      isBelow(this.#total, concurrency + ofAll, isRoutine) &&
      isBelow(this.#busy.get(provider), concurrencyOf(provider) + (released === provider ? 1 : 0), isRoutine)
    );
  }

  /** Reserves capacity of a provider for a server. The provider must have capacity, or its calls run elsewhere. */
  reserve(server: string, provider: string, isRoutine = false): void {
    this.release(server);
    const use = { provider, isRoutine };
    this.#reserved.set(server, use);
    this.#count(use, 1);
  }

  /** Releases the reservation of a server, if any. */
  release(server: string): void {
    const use = this.#reserved.get(server);
    if (use === undefined) return;
    this.#reserved.delete(server);
    this.#count(use, -1);
  }

  /**
   * Claims capacity for a call that starts once its intent is durable. No other call for this server may be claimed
   * meanwhile.
   */
  claim(server: string, provider: string, { isRoutine = false, tags }: CheckTraits = {}): void {
    invariant(!this.#calls.has(server), `two calls at once for ${server}`);
    this.release(server);
    this.#claims += 1;
    const { clock } = this.#options;
    const claimed = readClocks(clock);
    const call = { provider, isRoutine, tags, number: this.#claims, claimed, end: new AbortController() };
    this.#calls.set(server, call);
    if (!this.#isPulled(provider)) this.#running += 1;
    this.#count(call, 1);
  }

  /** Returns true for a routine check that runs here: it may be ended for an action. */
  mayEnd({ provider, isRoutine, end }: CallInFlight): boolean {
    return isRoutine && !end.signal.aborted && !this.#isPulled(provider);
  }

  /**
   * Returns the routine check to end, so that an action of a provider has capacity: the oldest of that provider, or else of
   * all where only their limit is reached. Undefined if there is none.
   */
  checkInTheWay(provider: string): CallInFlight | undefined {
    const checks = [...this.#calls.values()].filter((call) => this.mayEnd(call));
    const own = checks.find((call) => call.provider === provider);
    const isBusy = !isBelow(this.#busy.get(provider), this.#options.concurrencyOf(provider));
    return own ?? (isBusy ? undefined : checks[0]);
  }

  /** Releases the claim of a call that has ended, or was not started. */
  unclaim(server: string): void {
    const call = this.#calls.get(server);
    if (call === undefined) return;
    this.#calls.delete(server);
    if (!this.#isPulled(call.provider)) this.#running -= 1;
    this.#count(call, -1);
  }

  /** Accepts no more claims. */
  close(): void {
    this.#isClosed = true;
  }

  #isPulled(provider: string): boolean {
    return this.#options.isPulled?.(provider) ?? false;
  }

  #count({ provider, isRoutine }: Use, by: number): void {
    const busy = this.#busy.get(provider) ?? { all: 0, routine: 0 };
    this.#busy.set(provider, busy);
    for (const count of this.#isPulled(provider) ? [busy] : [busy, this.#total]) {
      count.all += by;
      if (isRoutine) count.routine += by;
    }
  }
}

/** Who is to have the capacity, and for what. */
export interface CapacityRequest {
  readonly server?: string;
  /** As if this server had no reservation. */
  readonly without?: string;
  readonly isRoutine?: boolean;
}

type CheckTraits = Partial<Pick<CallInFlight, 'isRoutine' | 'tags'>>;

function isBelow({ all, routine }: Count = { all: 0, routine: 0 }, limit: number, isRoutine = false): boolean {
  return all < limit && (!isRoutine || routine < Math.max(1, Math.floor(limit / 2)));
}
