// Sends commit statuses to a forge: compares what should be shown with what the forge accepted last, and sends what
// differs, one at a time. Nothing waits for it, and nothing that it meets fails anything else. It keeps no queue: what should be
// shown follows from the desired state and the rows at any time, after a restart too. docs/operations.md, commit statuses.
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import { WokenLoop } from '../base/woken-loop.ts';
import { momentOf } from '../base/wording.ts';
import { retryMs } from './pace.ts';
import type { Delivery, SendStatus } from './send-status.ts';
import { type UnsentOptions, UnsentStatuses } from './unsent-statuses.ts';
import type { WantedStatus } from './wanted-statuses.ts';

/** The source of the statuses to show, and the function that sends them. */
interface StatusReporterOptions extends UnsentOptions {
  readonly send: SendStatus;
  readonly log: Logger;
}

/** Why statuses cannot be sent at the moment. */
interface Failure {
  readonly reason: string;
  /** RFC 3339, with milliseconds. */
  readonly since: string;
}

/** Changes that come this close to each other make one status. */
const GATHER_MS = 1_000;
/** How often statuses are reviewed without a change: a former commit is not waited for forever. */
const REVIEW_MS = 3_600_000;
/** How soon the store is tried again. */
const SAVE_AGAIN_MS = 10_000;
/** After that many requests, other work comes first. */
const SENDS_MAX = 50;

/** A running reporter. */
export class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #unsent: UnsentStatuses;
  readonly #logOnceAMinute: LogOnceAMinute;
  readonly #loop: WokenLoop;
  /** By the monotonic clock. */
  #pausedUntil = 0;
  /** Number of requests that failed, one after the other. */
  #failures = 0;
  #failure: Failure | undefined;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
    const { clock } = options;
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.#loop = new WokenLoop({ clock, everyMs: REVIEW_MS, work: (signal) => this.#work(signal) });
    const changed = (): void => this.#loop.wakeWithin(GATHER_MS);
    this.#unsent = new UnsentStatuses(options, changed);
    changed();
  }

  /** Why the last status was not accepted; undefined where it was. */
  get failure(): Failure | undefined {
    return this.#failure;
  }

  /** Sends what is due, within some seconds. The rest is sent after the next start. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Never throws. */
  async #work(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#sendDue(signal);
    } catch (error) {
      const repeats = this.#logOnceAMinute(error);
      if (repeats) this.#options.log.error({ err: error, ...repeats }, 'the commit statuses could not be computed');
      return false;
    }
  }

  /** Sends the statuses that are due. A change meanwhile is seen before the next request. Returns true if there may be more. */
  async #sendDue(signal: AbortSignal): Promise<boolean> {
    let count = 0;
    for (; count < SENDS_MAX && !signal.aborted; count += 1) {
      const due = this.#dueNow(this.#unsent.list());
      if (due === undefined) break;
      this.#conclude(due, await this.#options.send(due, signal), signal);
      await this.#save();
    }
    await this.#save();
    return count === SENDS_MAX;
  }

  /** Returns the first status that is due, or wakes the reporter when one is. */
  #dueNow(unsent: readonly WantedStatus[]): WantedStatus | undefined {
    const now = this.#options.clock.monotonic();
    const dueAt = (status: WantedStatus): number => Math.max(this.#pausedUntil, this.#unsent.dueAt(status));
    // What the forge did not take may have been superseded.
    if (unsent.length === 0) this.#failure = undefined;
    const due = unsent.find((status) => dueAt(status) <= now);
    const next = Math.min(...unsent.map(dueAt));
    if (due === undefined && Number.isFinite(next)) this.#loop.wakeWithin(next - now);
    return due;
  }

  #conclude(status: WantedStatus, delivery: Delivery, signal: AbortSignal): void {
    const { clock, log } = this.#options;
    const { commit, context, state } = status;
    const now = clock.monotonic();
    if (delivery.kind === 'accepted') {
      this.#unsent.accepted(status);
      this.#failures = 0;
      this.#failure = undefined;
      log.info({ commit, context, state }, 'commit status sent');
      return;
    }
    if (signal.aborted) return;
    const { reason } = delivery;
    this.#failure = { reason, since: this.#failure?.since ?? momentOf(clock.now()) };
    if (delivery.kind === 'unreachable') {
      this.#failures += 1;
      this.#pausedUntil = now + Math.max(delivery.waitMs ?? 0, retryMs(this.#failures, this.#options.random));
    } else if (this.#unsent.refused(status)) {
      log.error({ commit, context, state, reason }, 'the commit status is given up');
      return;
    }
    const repeats = this.#logOnceAMinute(reason);
    if (repeats)
      log.warn(
        { commit, context, state, reason, ...repeats },
        'the commit status could not be sent; it is tried again',
      );
  }

  /** Never throws: what the store does not take is written later. */
  async #save(): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#unsent.save();
    } catch (error) {
      const repeats = this.#logOnceAMinute(error);
      if (repeats)
        log.warn({ err: error, ...repeats }, 'the sent commit statuses could not be recorded; it is tried again');
      this.#loop.wakeWithin(SAVE_AGAIN_MS);
    }
  }
}
