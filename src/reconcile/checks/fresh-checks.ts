// Records when each server was last checked. A create requires a check that is at most 30 s old, so that a server which
// another party creates meanwhile is not taken over. In memory: after a restart no check counts. The monotonic clock
// stops while the machine sleeps, and the wall clock may be set back; the age is the larger of the two.
// docs/decisions/0018-a-check-before-every-create.md.

import { type Clock, type ClockTimes, msSince, readClocks } from '../../base/clock.ts';
import type { CheckEnd } from '../../machine/decision.ts';
import { isSameSite, type Site } from '../../machine/responsibility.ts';

/** How long a check counts from its end. */
const FRESH_MS = 30_000;
/** A check that takes longer is slow: it is not known when in that time the provider has looked. */
const SLOW_MS = 15_000;

/** Who was asked, and since when. */
export interface BegunCheck {
  readonly checker: Site;
  readonly began: ClockTimes;
}

interface NotedCheck {
  readonly checker: Site;
  readonly end: CheckEnd | 'absent';
  readonly ended: ClockTimes;
}

/** The end of the last check of each server by each site that may have it, while it is fresh. */
export class FreshChecks {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** By server, the last noted one last. */
  readonly #checks = new Map<string, readonly NotedCheck[]>();
  /** By server, the sites that answered its last check slowly. */
  readonly #slow = new Map<string, readonly Site[]>();

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** Returns the present moment. */
  get now(): ClockTimes {
    return readClocks(this.#clock);
  }

  /**
   * Notes how a check of a server has just ended. One that was answered slowly does not count, since the provider may
   * have looked long before: a proxy that lost the line reports late. The second one in a row does, for a provider that always
   * takes so long. Where other sites have found it absent, that goes on counting for them: else those of a list would ask in
   * turn for ever.
   */
  record(server: string, end: NotedCheck['end'], { checker, began }: BegunCheck): void {
    const isKept = (check: NotedCheck): boolean => check.end === 'absent' && !isSameSite(check.checker, checker);
    const checks = (this.#checks.get(server) ?? []).filter(isKept);
    this.#checks.delete(server);
    const isFirstSlow = end !== 'failed' && this.noteSpeed(server, { checker, began });
    if (!isFirstSlow) checks.push({ checker, end, ended: this.now });
    if (checks.length > 0) this.#checks.set(server, checks);
    this.#prune();
  }

  /** Notes how fast a check that has just ended was answered. Returns true where it is the first slow one in a row. */
  noteSpeed(server: string, { checker, began }: BegunCheck): boolean {
    const known = this.#slow.get(server) ?? [];
    const others = known.filter((slow) => !isSameSite(slow, checker));
    const isSlow = msSince(began, this.#clock) > SLOW_MS;
    const slow = isSlow ? [...others, checker] : others;
    if (slow.length === 0) this.#slow.delete(server);
    else this.#slow.set(server, slow);
    return isSlow && others.length === known.length;
  }

  /** Drops what is known of a server: it is removed, or an action on it begins, of which its check tells nothing. */
  forget(server: string): void {
    this.#checks.delete(server);
    this.#slow.delete(server);
  }

  /**
   * Returns how the last check of a server ended, or undefined if there was none by the site of this checker within 30 s, or
   * an action followed it.
   */
  of(server: string, checker: Site): CheckEnd | undefined {
    const checks = this.#checks.get(server) ?? [];
    const last = checks.findLast((check) => isSameSite(check.checker, checker) && this.#isFresh(check));
    return last?.end === 'absent' ? 'answered' : last?.end;
  }

  #prune(): void {
    for (const [server, checks] of this.#checks) {
      if (checks.some((check) => this.#isFresh(check))) return;
      this.#checks.delete(server);
    }
  }

  #isFresh({ ended }: NotedCheck): boolean {
    return msSince(ended, this.#clock) <= FRESH_MS;
  }
}
