// Records when each server was last checked. A create requires a check that is at most 30 s old, so that a server which
// another party creates meanwhile is not taken over. In memory: after a restart no check counts. The monotonic clock
// stops while the machine sleeps, and the wall clock may be set back; the age is the larger of the two.
// docs/decisions/0018-a-check-before-every-create.md.

import { type Clock, type ClockTimes, msSince, readClocks } from '../../base/clock.ts';
import type { CheckEnd } from '../../machine/decision.ts';
import { isSameSite, type Site } from '../../machine/responsibility.ts';

/** How long a check counts from its end. */
const FRESH_MS = 30_000;

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

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Records how a check of a server has just ended. If other sites have found it absent, that still counts for them:
   * else the sites of a list would be asked in turn for ever.
   */
  record(server: string, end: NotedCheck['end'], checker: Site): void {
    const isKept = (check: NotedCheck): boolean => check.end === 'absent' && !isSameSite(check.checker, checker);
    const checks = (this.#checks.get(server) ?? []).filter(isKept);
    this.#checks.delete(server);
    this.#checks.set(server, [...checks, { checker, end, ended: readClocks(this.#clock) }]);
    this.#prune();
  }

  /** Drops what is known of a server: it is removed, or an action on it begins, of which its check tells nothing. */
  forget(server: string): void {
    this.#checks.delete(server);
  }

  /**
   * Returns how the last check of a server ended, or undefined if there was none by the site of this checker within 30
   * s, or an action followed it.
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
