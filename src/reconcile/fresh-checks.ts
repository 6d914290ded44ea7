// Records when each server was last checked. A create requires a check that is at most 30 s old, so that a server which
// another party creates meanwhile is not taken over. In memory: after a restart no check counts. The monotonic clock
// stops while the machine sleeps, and the wall clock may be set back; the age is the larger of the two.
// docs/decisions/0030-a-check-before-every-create.md.

import type { Clock } from '../clock.ts';
import type { CheckEnd } from '../machine/decision.ts';

/** How long a check counts from its end. */
const FRESH_MS = 30_000;
/** A check that takes longer is slow: nobody knows when in that time the provider has looked. */
const SLOW_MS = 15_000;

/** A moment by the monotonic clock and by the wall clock. */
export interface ClockTimes {
  readonly monotonic: number;
  readonly wall: number;
}

/** Who was asked, and since when. */
export interface BegunCheck {
  readonly checker: string;
  readonly began: ClockTimes;
}

interface NotedCheck {
  readonly checker: string;
  readonly end: CheckEnd;
  readonly ended: ClockTimes;
}

/** The end of the last check of each server, while it is fresh. */
export class FreshChecks {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** By server, the last noted one last. */
  readonly #checks = new Map<string, NotedCheck>();
  /** By server, who answered its last check slowly. */
  readonly #slow = new Map<string, string>();

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** Returns the present moment. */
  get now(): ClockTimes {
    return { monotonic: this.#clock.monotonic(), wall: this.#clock.now() };
  }

  /**
   * Notes how a check of a server has just ended. One that was answered slowly does not count, since the provider may
   * have looked long before: a proxy that lost the line reports late. The second one in a row does, for a provider that always
   * takes so long.
   */
  note(server: string, end: CheckEnd, { checker, began }: BegunCheck): void {
    this.#checks.delete(server);
    const isSlow = this.#ageOf(began) > SLOW_MS;
    const isFirst = isSlow && this.#slow.get(server) !== checker;
    if (end === 'answered') this.#noteSpeed(server, isSlow ? checker : undefined);
    if (end === 'failed' || !isFirst) this.#checks.set(server, { checker, end, ended: this.now });
    this.#prune();
  }

  /** Drops what is known of a server: it is removed, or an action on it begins, of which its check tells nothing. */
  forget(server: string): void {
    this.#checks.delete(server);
    this.#slow.delete(server);
  }

  /**
   * Returns how the last check of a server ended, or undefined if there was none by this checker within 30 s, or an
   * action followed it.
   */
  of(server: string, checker: string): CheckEnd | undefined {
    const check = this.#checks.get(server);
    return check !== undefined && check.checker === checker && this.#isFresh(check) ? check.end : undefined;
  }

  #noteSpeed(server: string, slowChecker: string | undefined): void {
    if (slowChecker === undefined) this.#slow.delete(server);
    else this.#slow.set(server, slowChecker);
  }

  #prune(): void {
    for (const [server, check] of this.#checks) {
      if (this.#isFresh(check)) return;
      this.#checks.delete(server);
    }
  }

  #isFresh({ ended }: NotedCheck): boolean {
    return this.#ageOf(ended) <= FRESH_MS;
  }

  #ageOf({ monotonic, wall }: ClockTimes): number {
    return Math.max(this.#clock.monotonic() - monotonic, this.#clock.now() - wall);
  }
}
