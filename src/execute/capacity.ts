// Counts the calls in flight, in total and by provider entry, and reserves capacity for servers that will claim it.
// Calls that run elsewhere take no capacity here; for each of them a proxy asks, and reserves it.
import type { Clock } from '../clock.ts';
import { invariant } from '../model/invariant.ts';

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

/** When a call was claimed, by both clocks. */
export interface ClaimTime {
  readonly now: number;
  readonly monotonic: number;
}

/** The claims and reservations of calls. */
export class Capacity {
  readonly #options: CapacityOptions;
  /** Every claimed call that has not ended, by server, the oldest first. */
  readonly #inFlight = new Map<string, ClaimTime & Use>();
  /** The reserved capacity of every server without a claimed call. */
  readonly #reserved = new Map<string, Use>();
  /** Claims and reservations by provider, and of all whose calls run here. */
  readonly #busy = new Map<string, Count>();
  readonly #total: Count = { all: 0, routine: 0 };
  /** Number of claimed calls that run here. */
  #running = 0;
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
    return this.#inFlight.has(server);
  }

  /** Returns when the call in flight for this server was claimed; undefined if there is none. */
  claimedAt(server: string): ClaimTime | undefined {
    return this.#inFlight.get(server);
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
  claim(server: string, provider: string, isRoutine = false): void {
    invariant(!this.#inFlight.has(server), `two calls at once for ${server}`);
    this.release(server);
    const { clock } = this.#options;
    const use = { provider, isRoutine };
    this.#inFlight.set(server, { ...use, now: clock.now(), monotonic: clock.monotonic() });
    if (!this.#isPulled(provider)) this.#running += 1;
    this.#count(use, 1);
  }

  /** Returns true if the call in flight for this server is a routine check that runs here. */
  isRoutineHere(server: string): boolean {
    const claimed = this.#inFlight.get(server);
    return claimed?.isRoutine === true && !this.#isPulled(claimed.provider);
  }

  /**
   * Returns the servers whose routine checks run here and whose end gives that provider capacity, the longest running first:
   * its own, or else those of others where the limit of all is reached and its own is not.
   */
  checksInTheWay(provider: string): readonly string[] {
    const checks = [...this.#inFlight.keys()].filter((server) => this.isRoutineHere(server));
    const own = checks.filter((server) => this.#inFlight.get(server)?.provider === provider);
    const isFull = !isBelow(this.#busy.get(provider), this.#options.concurrencyOf(provider));
    return isFull ? own : [...own, ...checks.filter((server) => !own.includes(server))];
  }

  /** Releases the claim of a call that has ended, or was not started. */
  unclaim(server: string): void {
    const claimed = this.#inFlight.get(server);
    if (claimed === undefined) return;
    this.#inFlight.delete(server);
    if (!this.#isPulled(claimed.provider)) this.#running -= 1;
    this.#count(claimed, -1);
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

function isBelow({ all, routine }: Count = { all: 0, routine: 0 }, limit: number, isRoutine = false): boolean {
  return all < limit && (!isRoutine || routine < Math.max(1, Math.floor(limit / 2)));
}
