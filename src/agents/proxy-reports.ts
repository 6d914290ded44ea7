// Remembers the reports of proxies: a proxy that did not get the answer repeats its report, and gets the same answer.
// In memory and bounded: a forgotten report is refused like one of an action that was given up.
import { createHash } from 'node:crypto';
import { type Clock, within } from '../base/clock.ts';
import { ServiceError } from '../model/service-error.ts';
import { stopping } from '../reconcile/passes/claimed-passes.ts';

const REPORTS_MAX = 10_000;
const KEPT_MS = 3_600_000;
/** How long the answer to a report waits for its record. */
const RECORD_MS = 10_000;

/** A report that came within the last hour. */
export interface KnownReport {
  /** Digest of what was reported. */
  readonly content: string;
  /** By the monotonic clock. */
  readonly came: number;
  readonly recorded: PromiseWithResolvers<void>;
  /** Its call has ended with it; the next pass records it. */
  isNoted: boolean;
}

/** The reports of proxies in this process. */
export class ProxyReports {
  readonly #clock: Clock;
  /** By digest of the lease, oldest first. */
  readonly #known = new Map<string, KnownReport>();
  /** The reports that are not recorded yet, by server. */
  readonly #open = new Map<string, KnownReport>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the report that came with a lease; undefined if none is known. */
  of(lease: string): KnownReport | undefined {
    return this.#known.get(digestOf(lease));
  }

  /** Notes a report about a server. */
  begin(server: string, lease: string, content: string): KnownReport {
    const recorded = Promise.withResolvers<void>();
    const report = { content, came: this.#clock.monotonic(), recorded, isNoted: false };
    // Whether a request waits for it or not.
    recorded.promise.catch(() => this.#known.delete(digestOf(lease)));
    this.#known.set(digestOf(lease), report);
    this.#open.set(server, report);
    this.#prune();
    return report;
  }

  /** Notes that the call of a server has ended: with its report, or without an answer. */
  ended(server: string, isAnswered: boolean): void {
    const report = this.#open.get(server);
    if (report === undefined) return;
    report.isNoted = true;
    if (isAnswered) return;
    this.#open.delete(server);
    report.recorded.reject(new ServiceError('conflict', `The action on ${server} was given up`));
  }

  /** Notes that a pass over a server has recorded how its last call ended. */
  passed(server: string): void {
    const report = this.#open.get(server);
    if (report?.isNoted !== true) return;
    this.#open.delete(server);
    report.recorded.resolve();
  }

  /** Resolves once a report is recorded. Throws `not_ready` if that takes long: the report is to be repeated. */
  async recorded({ recorded }: KnownReport): Promise<void> {
    const isRecorded = await within(
      this.#clock,
      RECORD_MS,
      recorded.promise.then(() => true),
    );
    if (isRecorded === undefined)
      throw new ServiceError('not_ready', 'The report could not be recorded yet; report it again');
  }

  /** Ends every wait for a record. */
  stop(): void {
    for (const { recorded } of this.#open.values()) recorded.reject(stopping());
    this.#open.clear();
  }

  #prune(): void {
    for (const [lease, { came }] of this.#known) {
      if (this.#known.size <= REPORTS_MAX && this.#clock.monotonic() - came <= KEPT_MS) return;
      this.#known.delete(lease);
    }
  }
}

/** Returns the digest of a secret text, for comparing and storing. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
