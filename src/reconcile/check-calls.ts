// Starts the scheduled checks that are due, in turn over provider entries and instances, and counts those in flight: they
// take at most half of the capacity, only what no action waits for, and give it back to an action.
import type { Capacity } from '../execute/capacity.ts';
import { CapacityLine } from './capacity-line.ts';

/** The limits of checks, and the end of one. */
export interface CheckCallsOptions {
  /** Concurrent calls of all provider entries. */
  readonly concurrency: number;
  /** Returns the number of concurrent calls of a provider entry. */
  readonly concurrencyOf: (provider: string) => number;
  readonly capacity: Pick<Capacity, 'hasCapacity'>;
  /** Returns true if proxies take the calls of an entry when they like: its checks are only offered to them. */
  readonly isPulled: (provider: string) => boolean;
  /** Ends the check of a server that is in flight. */
  readonly endCall: (server: string) => void;
}

interface CheckCall {
  readonly provider: string;
  isRunning: boolean;
  /** It was told to end, for an action. */
  hasYielded: boolean;
}

/** The scheduled checks that wait for capacity, are about to begin, or run. */
export class CheckCalls {
  readonly #options: CheckCallsOptions;
  /** Servers whose check is due and has not begun. */
  readonly #ready = new CapacityLine();
  /** Checks that run or that the next pass may begin, by server, oldest first. */
  readonly #calls = new Map<string, CheckCall>();
  readonly #counts = new Map<string, number>();

  constructor(options: CheckCallsOptions) {
    this.#options = options;
  }

  /** Appends a server whose check is due. */
  add(server: string, provider: string, instance: string): void {
    this.#ready.add(server, provider, instance);
  }

  /** Removes a server whose check has not begun. */
  delete(server: string, provider: string, instance: string): void {
    this.#ready.delete(server, provider, instance);
    if (this.#calls.get(server)?.isRunning === false) this.end(server);
  }

  /** Removes and returns the next server that gets capacity, and counts its check; undefined if there is none. */
  take(): string | undefined {
    const next = this.#ready.take((provider) => this.#mayTake(provider));
    if (next !== undefined && !this.#options.isPulled(next.provider)) this.#count(next.server, next.provider);
    return next?.server;
  }

  /** Notes that a check begins. */
  begin(server: string, provider: string): void {
    if (!this.#calls.has(server)) this.#count(server, provider);
    const call = this.#calls.get(server);
    if (call !== undefined) call.isRunning = true;
  }

  /** Removes a check and returns it; undefined if there is none. */
  end(server: string): { readonly hasYielded: boolean } | undefined {
    const call = this.#calls.get(server);
    if (call === undefined) return undefined;
    this.#calls.delete(server);
    this.#counts.set(call.provider, (this.#counts.get(call.provider) ?? 0) - 1);
    return call;
  }

  /** Ends the check of a server, if it runs; not that of a proxy, which cannot be ended from here. It counts until its call has ended. */
  yield(server: string): void {
    const call = this.#calls.get(server);
    if (call === undefined || !call.isRunning || call.hasYielded || this.#options.isPulled(call.provider)) return;
    call.hasYielded = true;
    this.#options.endCall(server);
  }

  /** Ends the oldest running check of a provider entry, or else the oldest of all. */
  yieldOne(provider: string): void {
    const running = [...this.#calls].filter(
      ([, call]) => call.isRunning && !call.hasYielded && !this.#options.isPulled(call.provider),
    );
    const first = running.find(([, call]) => call.provider === provider) ?? running[0];
    if (first !== undefined) this.yield(first[0]);
  }

  #count(server: string, provider: string): void {
    this.end(server);
    this.#calls.set(server, { provider, isRunning: false, hasYielded: false });
    this.#counts.set(provider, (this.#counts.get(provider) ?? 0) + 1);
  }

  #mayTake(provider: string): boolean {
    const { concurrency, concurrencyOf, capacity, isPulled } = this.#options;
    if (isPulled(provider)) return true;
    if (this.#calls.size >= half(concurrency)) return false;
    return (this.#counts.get(provider) ?? 0) < half(concurrencyOf(provider)) && capacity.hasCapacity(provider);
  }
}

/** Returns half of a limit, at least 1. */
function half(count: number): number {
  return Math.max(1, Math.floor(count / 2));
}
