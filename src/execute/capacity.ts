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

/** When a call was claimed, by both clocks. */
export interface ClaimTime {
  readonly now: number;
  readonly monotonic: number;
}

/** The claims and reservations of calls. */
export class Capacity {
  readonly #options: CapacityOptions;
  /** The provider and claim time of every claimed call that has not ended, by server. */
  readonly #inFlight = new Map<string, ClaimTime & { readonly provider: string }>();
  /** The provider of every server with reserved capacity and no claimed call. */
  readonly #reserved = new Map<string, string>();
  /** Number of claims and reservations by provider. */
  readonly #busy = new Map<string, number>();
  /** Number of claimed calls that run here, and of claims and reservations that count towards the total. */
  #running = 0;
  #total = 0;
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

  /** Returns true if one more call of this provider may be claimed now; by `server`, which may have a reservation. */
  hasCapacity(provider: string, server?: string): boolean {
    if (this.#isClosed) return false;
    if (server !== undefined && this.#reserved.get(server) === provider) return true;
    if (this.#isPulled(provider) || this.#total >= this.#options.concurrency) return false;
    return (this.#busy.get(provider) ?? 0) < this.#options.concurrencyOf(provider);
  }

  /** Reserves capacity of a provider for a server. The provider must have capacity, or its calls run elsewhere. */
  reserve(server: string, provider: string): void {
    this.release(server);
    this.#reserved.set(server, provider);
    this.#count(provider, 1);
  }

  /** Releases the reservation of a server, if any. */
  release(server: string): void {
    const provider = this.#reserved.get(server);
    if (provider === undefined) return;
    this.#reserved.delete(server);
    this.#count(provider, -1);
  }

  /**
   * Claims capacity for a call that starts once its intent is durable. No other call for this server may be claimed
   * meanwhile.
   */
  claim(server: string, provider: string): void {
    invariant(!this.#inFlight.has(server), `two calls at once for ${server}`);
    this.release(server);
    const { clock } = this.#options;
    this.#inFlight.set(server, { provider, now: clock.now(), monotonic: clock.monotonic() });
    if (!this.#isPulled(provider)) this.#running += 1;
    this.#count(provider, 1);
  }

  /** Releases the claim of a call that has ended, or was not started. */
  unclaim(server: string): void {
    const claimed = this.#inFlight.get(server);
    if (claimed === undefined) return;
    this.#inFlight.delete(server);
    if (!this.#isPulled(claimed.provider)) this.#running -= 1;
    this.#count(claimed.provider, -1);
  }

  /** Accepts no more claims. */
  close(): void {
    this.#isClosed = true;
  }

  #isPulled(provider: string): boolean {
    return this.#options.isPulled?.(provider) ?? false;
  }

  #count(provider: string, by: number): void {
    if (!this.#isPulled(provider)) this.#total += by;
    this.#busy.set(provider, (this.#busy.get(provider) ?? 0) + by);
  }
}
