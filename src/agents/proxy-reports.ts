// Remembers the reports of proxies: a proxy that missed the answer repeats its report, and gets the same answer. In
// memory and bounded: a forgotten report is refused like the report of an action that was given up.
import { createHash } from 'node:crypto';
import { type Clock, within } from '../base/clock.ts';
import { ServiceError } from '../model/service-error.ts';
import { stopping } from '../reconcile/passes/claimed-passes.ts';

const REPORTS_MAX = 10_000;
const KEPT_MS = 3_600_000;
/** How long an answer waits until its report is recorded. */
const RECORD_MS = 10_000;

/** A report of the last hour. */
export interface KnownReport {
  /** Digest of the content of the report. */
  readonly content: string;
  /** The time of arrival, by the monotonic clock. */
  readonly came: number;
  readonly recorded: PromiseWithResolvers<void>;
  /** True if the report has ended its call, so that the next pass records it. */
  isNoted: boolean;
}

/** The reports of proxies in this process. */
export class ProxyReports {
  readonly #clock: Clock;
  /** By digest of the lease, oldest first. */
  readonly #known = new Map<string, KnownReport>();
  /** The reports that are not yet recorded, by server. */
  readonly #open = new Map<string, KnownReport>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the report for a lease; undefined if there is none. */
  of(lease: string): KnownReport | undefined {
    return this.#known.get(digestOf(lease));
  }

  /** Notes a report about a server. */
  begin(server: string, lease: string, content: string): KnownReport {
    const recorded = Promise.withResolvers<void>();
    const report = { content, came: this.#clock.monotonic(), recorded, isNoted: false };
    // Handles the rejection even if no request waits for it.
    recorded.promise.catch(() => this.#known.delete(digestOf(lease)));
    this.#known.set(digestOf(lease), report);
    this.#open.set(server, report);
    this.#prune();
    return report;
  }

  /** Notes the end of a server's call, with its report or without an answer. */
  ended(server: string, isAnswered: boolean): void {
    const report = this.#open.get(server);
    if (report === undefined) return;
    report.isNoted = true;
    if (isAnswered) return;
    this.#open.delete(server);
    report.recorded.reject(new ServiceError('conflict', `The action on ${server} was given up`));
  }

  /** Notes that a pass has recorded the result of the server's last call. */
  passed(server: string): void {
    const report = this.#open.get(server);
    if (report?.isNoted !== true) return;
    this.#open.delete(server);
    report.recorded.resolve();
  }

  /** Resolves when a report is recorded. Throws `not_ready` if that takes long: the proxy has to repeat the report. */
  async recorded({ recorded }: KnownReport): Promise<void> {
    const isRecorded = await within(
      this.#clock,
      RECORD_MS,
      recorded.promise.then(() => true),
    );
    if (isRecorded === undefined)
      throw new ServiceError('not_ready', 'The report could not be recorded yet; repeat it');
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

/** Returns the digest of a secret, for comparing and storing. */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
