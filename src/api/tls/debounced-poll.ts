// Schedules polls of something that changes at unknown times: soon after a sign of change, and at an interval without
// one. It runs one poll at a time.
import type { Clock } from '../../base/clock.ts';

interface DebouncedPollOptions {
  readonly clock: Clock;
  /** The delay after a sign of change, in which related files change too. */
  readonly settleMs: number;
  /** Signs can be lost. */
  readonly pollMs: number;
  /** Must not throw. */
  readonly poll: () => Promise<void>;
}

/** Polls for the first time after `pollMs`, or `settleMs` after the first sign. */
export class DebouncedPoll {
  readonly #options: DebouncedPollOptions;
  #phase: 'resting' | 'settling' | 'polling' | 'closed' = 'resting';
  /** A sign came during a poll: what was seen may be half of the change. */
  #isOutdated = false;
  #polling: Promise<void> = Promise.resolve();
  #cancel: () => void;

  constructor(options: DebouncedPollOptions) {
    this.#options = options;
    this.#cancel = this.#wait(options.pollMs);
  }

  /** Something may have changed. Signs that come while one is waited out postpone nothing: else they could do so for ever. */
  sign(): void {
    if (this.#phase === 'polling') this.#isOutdated = true;
    if (this.#phase !== 'resting') return;
    this.#cancel();
    this.#phase = 'settling';
    this.#cancel = this.#wait(this.#options.settleMs);
  }

  /** Polls no more; resolves when a poll under way has ended. */
  async close(): Promise<void> {
    this.#phase = 'closed';
    this.#cancel();
    await this.#polling;
  }

  #wait(ms: number): () => void {
    return this.#options.clock.after(ms, () => {
      this.#polling = this.#poll();
    });
  }

  async #poll(): Promise<void> {
    this.#phase = 'polling';
    this.#isOutdated = false;
    await this.#options.poll();
    if (this.#isClosed()) return;
    this.#phase = 'resting';
    this.#cancel = this.#wait(this.#options.pollMs);
    if (this.#isOutdated) this.sign();
  }

  /** A function of its own, since TypeScript believes that the phase cannot change while something is awaited. */
  #isClosed(): boolean {
    return this.#phase === 'closed';
  }
}
