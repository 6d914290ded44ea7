// Counts the calls that are in flight, in all and by provider entry, and keeps capacity for servers that will claim it.
import type { Clock } from '../clock.ts';
import { invariant } from '../model/invariant.ts';

export interface CapacityOptions {
  /** Calls at once, over all provider entries. */
  readonly concurrency: number;
  /** How many calls of a provider entry run at once. */
  readonly concurrencyOf: (provider: string) => number;
  readonly clock: Clock;
}

/** When a call was claimed, by both clocks. */
export interface Claimed {
  readonly now: number;
  readonly monotonic: number;
}

export class Capacity {
  readonly #options: CapacityOptions;
  /** The provider of every call that was claimed and has not ended, by server, and when it was claimed. */
  readonly #inFlight = new Map<string, Claimed & { readonly provider: string }>();
  /** The provider of every server for which capacity is kept and no call was claimed yet. */
  readonly #reserved = new Map<string, string>();
  /** How many of both there are by provider. */
  readonly #busy = new Map<string, number>();
  #isClosed = false;

  constructor(options: CapacityOptions) {
    this.#options = options;
  }

  /** How many calls are in flight. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Returns whether a call for this server was claimed and has not ended. */
  isInFlight(server: string): boolean {
    return this.#inFlight.has(server);
  }

  /** Returns when the call in flight for this server was claimed; undefined where there is none. */
  claimedAt(server: string): Claimed | undefined {
    return this.#inFlight.get(server);
  }

  /** Returns whether one more call of this provider may be claimed now; by `server`, for which capacity may be reserved. */
  hasCapacity(provider: string, server?: string): boolean {
    if (this.#isClosed) return false;
    if (server !== undefined && this.#reserved.get(server) === provider) return true;
    if (this.#inFlight.size + this.#reserved.size >= this.#options.concurrency) return false;
    return (this.#busy.get(provider) ?? 0) < this.#options.concurrencyOf(provider);
  }

  /** Keeps capacity of a provider that has some for a server that may claim it. */
  reserve(server: string, provider: string): void {
    this.release(server);
    this.#reserved.set(server, provider);
    this.#count(provider, 1);
  }

  /** Gives back what was reserved for a server, if anything was. */
  release(server: string): void {
    const provider = this.#reserved.get(server);
    if (provider === undefined) return;
    this.#reserved.delete(server);
    this.#count(provider, -1);
  }

  /** Takes capacity for a call that follows once its intent is durable. No other call for this server may be claimed meanwhile. */
  claim(server: string, provider: string): void {
    invariant(!this.#inFlight.has(server), `two calls at once for ${server}`);
    this.release(server);
    const { clock } = this.#options;
    this.#inFlight.set(server, { provider, now: clock.now(), monotonic: clock.monotonic() });
    this.#count(provider, 1);
  }

  /** Gives back the claim of a call that has ended, or does not follow. */
  unclaim(server: string): void {
    const claimed = this.#inFlight.get(server);
    if (claimed === undefined) return;
    this.#inFlight.delete(server);
    this.#count(claimed.provider, -1);
  }

  /** No more calls may be claimed. */
  close(): void {
    this.#isClosed = true;
  }

  #count(provider: string, by: number): void {
    this.#busy.set(provider, (this.#busy.get(provider) ?? 0) + by);
  }
}
