// Records when each server was last checked. A create requires a check that is at most 30 s old, so that a server which
// another party creates meanwhile is not taken over. In memory: after a restart no check counts. The monotonic clock
// stops while the machine sleeps, and the wall clock may be set back; the age is the larger of the two.

import type { Clock } from '../clock.ts';
import type { CheckEnd } from '../machine/decision.ts';

/** How long a check counts. */
const FRESH_MS = 30_000;

interface NotedCheck {
  /** By the monotonic clock and by the wall clock. */
  readonly ended: number;
  readonly endedWall: number;
  readonly end: CheckEnd;
  /** Who was asked. */
  readonly checker: string;
}

/** The end of the last check of each server, while it is fresh. */
export class FreshChecks {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** By server, oldest first. */
  readonly #checks = new Map<string, NotedCheck>();

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** Notes how a check of a server has just ended; `checker`: who was asked. */
  note(server: string, end: CheckEnd, checker = ''): void {
    this.#checks.delete(server);
    this.#checks.set(server, { ended: this.#clock.monotonic(), endedWall: this.#clock.now(), end, checker });
    this.#prune();
  }

  /** Drops a server's check: an action on it begins, and the check tells nothing about its result. */
  forget(server: string): void {
    this.#checks.delete(server);
  }

  /**
   * Returns how the last check of a server ended, or undefined if there was none by this checker within 30 s, or an
   * action followed it.
   */
  of(server: string, checker = ''): CheckEnd | undefined {
    const check = this.#checks.get(server);
    return check !== undefined && check.checker === checker && this.#isFresh(check) ? check.end : undefined;
  }

  #prune(): void {
    for (const [server, check] of this.#checks) {
      if (this.#isFresh(check)) return;
      this.#checks.delete(server);
    }
  }

  #isFresh({ ended, endedWall }: NotedCheck): boolean {
    return this.#clock.monotonic() - ended <= FRESH_MS && this.#clock.now() - endedWall <= FRESH_MS;
  }
}
