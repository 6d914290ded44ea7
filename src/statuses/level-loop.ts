// Keeps one receiver up to date: a forge with commit statuses, or a subscriber with events. It has no queue: the
// messages to send are the difference between the facts and the last accepted messages, also after a restart.
// ARCHITECTURE.md, "Events and messages".
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import { WokenLoop } from '../base/woken-loop.ts';
import { toRfc3339 } from '../base/wording.ts';
import { backoffMs } from '../machine/call-outcome.ts';
import type { JsonMap } from '../model/json.ts';
import type { Outage } from '../service/answers.ts';
import type { Attempt } from './post-once.ts';

/** A message with the fields that identify it. */
export interface Message {
  /** Equal for messages with the same content. */
  readonly key: string;
  /** Its fields in the log. */
  readonly about: JsonMap;
}

interface LevelLoopOptions<Sent extends Message> {
  /** The receiver, for the log. */
  readonly to: string;
  /** How often the difference is computed without a change, in milliseconds. */
  readonly everyMs: number;
  /** Returns the messages that the receiver has not accepted, in the order of sending. */
  readonly differing: () => readonly Sent[];
  /** Sends one message. Never throws. */
  readonly send: (message: Sent, signal: AbortSignal) => Promise<Attempt>;
  /** Notes the result of an attempt. */
  readonly note: (message: Sent, attempt: Attempt) => void;
  /** Resolves when the store has all results. */
  readonly save: () => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Changes that come this close to each other are handled together. */
const GATHER_MS = 1_000;
/** The wait after an error of the store or of the computation. */
const AGAIN_MS = 10_000;
/** The maximum number of requests in one turn of the loop. */
const SENDS_MAX = 50;
const RETRY = { attempts: 1, firstSeconds: 5, maxSeconds: 600, failedSeconds: 600 };
const RETRY_MS_MIN = 1_000;

/** A running loop. The caller has to stop it. */
export class LevelLoop<Sent extends Message> {
  readonly #options: LevelLoopOptions<Sent>;
  readonly #logOnceAMinute: LogOnceAMinute;
  readonly #loop: WokenLoop;
  /** The number of consecutive failed rounds. */
  #failures = 0;
  /** The end of the back-off, by the monotonic clock. */
  #until = 0;
  /**
   * True if no message is sent during the back-off: the receiver did not answer, or the fault is not in one message.
   */
  #isAway = false;
  /** The keys of refused messages, which are not sent during the back-off. */
  readonly #refused = new Set<string>();
  #failure: Outage | undefined;

  constructor(options: LevelLoopOptions<Sent>) {
    this.#options = options;
    const { clock, everyMs } = options;
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.#loop = new WokenLoop({ clock, everyMs, work: (signal) => this.#work(signal) });
    this.wake();
  }

  get to(): string {
    return this.#options.to;
  }

  /** Why the receiver does not accept a message; undefined if it accepted all of them. */
  get failure(): Outage | undefined {
    return this.#failure;
  }

  /** Compares and sends soon. Call it after a change. */
  wake(): void {
    this.#loop.wakeWithin(GATHER_MS);
  }

  /** Sends due messages within some seconds. The rest is sent after the next start. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Never throws. */
  async #work(signal: AbortSignal): Promise<boolean> {
    try {
      return await this.#sendDue(signal);
    } catch (error) {
      const { log, to } = this.#options;
      const repeats = this.#logOnceAMinute(error);
      if (repeats) log.error({ err: error, to, ...repeats }, 'the messages could not be computed; it is tried again');
      this.#loop.wakeWithin(AGAIN_MS);
      return false;
    }
  }

  /** Computes the difference again before each request. Returns true if there may be more messages. */
  async #sendDue(signal: AbortSignal): Promise<boolean> {
    for (let count = 0; count < SENDS_MAX && !signal.aborted; count += 1) {
      const due = this.#nextDue();
      await this.#save();
      if (due === undefined) return false;
      const attempt = await this.#options.send(due, signal);
      if (!attempt.isAccepted && signal.aborted) return false;
      this.#conclude(due, attempt);
    }
    await this.#save();
    return !signal.aborted;
  }

  #nextDue(): Sent | undefined {
    const now = this.#options.clock.monotonic();
    const differing = this.#options.differing();
    const isWaiting = now < this.#until;
    if (!isWaiting || differing.length === 0) this.#refused.clear();
    if (differing.length === 0) this.#recover();
    else if (isWaiting) this.#loop.wakeWithin(this.#until - now);
    if (isWaiting && this.#isAway) return undefined;
    return differing.find(({ key }) => !this.#refused.has(key));
  }

  #recover(): void {
    this.#failures = 0;
    this.#failure = undefined;
  }

  #conclude(message: Sent, attempt: Attempt): void {
    const { to, log, note } = this.#options;
    note(message, attempt);
    if (!attempt.isAccepted) {
      this.#backOff(message, attempt);
      return;
    }
    if (this.#refused.size === 0) this.#recover();
    log.info({ to, ...message.about }, 'message accepted');
  }

  #backOff({ key, about }: Sent, { answer, isOnlyThis, waitMs = 0 }: Attempt): void {
    const { to, clock, log, random } = this.#options;
    const now = clock.monotonic();
    if (now >= this.#until) this.#failures += 1;
    const pauseMs = Math.max(waitMs, RETRY_MS_MIN + backoffMs(RETRY, this.#failures, random));
    this.#until = Math.max(this.#until, now + pauseMs);
    this.#isAway = !isOnlyThis;
    if (isOnlyThis) this.#refused.add(key);
    this.#failure = { reason: answer, since: this.#failure?.since ?? toRfc3339(clock.now()) };
    const repeats = this.#logOnceAMinute(answer);
    if (repeats) log.warn({ to, ...about, answer, ...repeats }, 'a message was not accepted; it is tried again');
  }

  /** Never throws: results that the store refuses are saved later. */
  async #save(): Promise<void> {
    const { to, log, save } = this.#options;
    try {
      await save();
    } catch (error) {
      const repeats = this.#logOnceAMinute(error);
      if (repeats)
        log.warn({ err: error, to, ...repeats }, 'accepted messages could not be recorded; it is tried again');
      this.#loop.wakeWithin(AGAIN_MS);
    }
  }
}
