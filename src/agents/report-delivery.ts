// Sends reports until the controller has answered them, however long the connection is lost. Keeps each report on disk
// until then. Logs a refused report and does not repeat it.
import { type Clock, pause, within } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { JsonMap } from '../model/json.ts';
import type { KeptClaim, KeptClaims } from './claimed-work.ts';
import { type ControllerClient, ControllerRefusal } from './controller-client.ts';

const PAUSE_FIRST_MS = 500;
const PAUSE_MS_MAX = 30_000;

/**
 * The controller will never accept this report: the action is unknown or was given up, or the report is malformed or
 * too large.
 */
const REFUSED: readonly number[] = [400, 404, 409, 413];

/** The parts that send reports. */
export interface ReportDeliveryOptions {
  readonly client: Pick<ControllerClient, 'send'>;
  readonly work: KeptClaims;
  /** In [0, 1); default: Math.random. */
  readonly random?: () => number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The reports that the controller has not answered. */
export class ReportDelivery {
  readonly #options: ReportDeliveryOptions;
  readonly #stopped = new AbortController();
  readonly #open = new Set<Promise<void>>();

  constructor(options: ReportDeliveryOptions) {
    this.#options = options;
  }

  /** Sends a report, repeatedly if necessary. */
  deliver(kept: KeptClaim): void {
    const delivery = this.#deliver(kept).finally(() => this.#open.delete(delivery));
    this.#open.add(delivery);
  }

  /** Waits up to `ms` for open reports. The others are sent after the next start. */
  async stop(ms: number): Promise<void> {
    const { clock, log } = this.#options;
    await within(clock, ms, Promise.allSettled(this.#open));
    if (this.#open.size > 0) log.warn({ reports: this.#open.size }, 'reports are kept for the next start');
    this.#stopped.abort();
    await Promise.allSettled(this.#open);
  }

  async #deliver(kept: KeptClaim): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted; failures += 1) {
      if (await this.#send(kept, failures)) {
        this.#forget(kept);
        return;
      }
      await pause(this.#options.clock, pauseMs(failures, this.#options.random), signal);
    }
  }

  /** If the claim cannot be removed (for example on a read-only disk), it is reported again after the next start. */
  #forget(kept: KeptClaim): void {
    const { work, log } = this.#options;
    try {
      work.forget(kept);
    } catch (error) {
      log.warn({ action: kept.id, err: error }, 'the claim could not be removed');
    }
  }

  /** Resolves with true if the controller has answered, with false if the report has to be repeated. */
  async #send({ id, lease, answer }: KeptClaim, failures: number): Promise<boolean> {
    const { client, log } = this.#options;
    const body: JsonMap = { ...(answer as unknown as JsonMap), lease };
    try {
      await client.send({
        path: `/agent/actions/${encodeURIComponent(id)}/report`,
        body,
        signal: this.#stopped.signal,
      });
      // Checks repeat forever, so they are only debug lines.
      log[id.endsWith('.check') ? 'debug' : 'info']({ action: id, outcome: answer?.outcome }, 'reported');
      return true;
    } catch (error) {
      if (this.#stopped.signal.aborted) return false;
      if (error instanceof ControllerRefusal && REFUSED.includes(error.status)) {
        log.warn({ action: id, err: error }, 'the controller refuses the report; it is not sent again');
        return true;
      }
      if (failures === 0) log.warn({ action: id, err: error }, 'the report could not be sent; it is sent again');
      return false;
    }
  }
}

/**
 * Returns the pause after that many consecutive failures, in milliseconds: longer each time, with jitter, so that many
 * proxies do not return at the same moment.
 */
export function pauseMs(failures: number, random: () => number = Math.random): number {
  const longest = Math.min(PAUSE_MS_MAX, PAUSE_FIRST_MS * 2 ** Math.min(failures, 10));
  return longest * (0.5 + 0.5 * random());
}
