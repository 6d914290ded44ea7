// When each server was last checked. A create follows a check that is at most 30 s old: what somebody else builds while a
// server waits must not be taken over. In memory and monotonic: after a restart no check counts.
import type { Clock } from '../clock.ts';

/** How long a check counts. */
const FRESH_MS = 30_000;

/** `answered`: it told whether the server is there. `failed`: it did not. */
export type CheckEnd = 'answered' | 'failed';

interface NotedCheck {
  readonly ended: number;
  readonly end: CheckEnd;
}

export class FreshChecks {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By server, the oldest first. */
  readonly #checks = new Map<string, NotedCheck>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Notes how a check of a server has just ended. */
  note(server: string, end: CheckEnd): void {
    this.#checks.delete(server);
    this.#checks.set(server, { ended: this.#clock.monotonic(), end });
    this.#prune();
  }

  /** Forgets a server's check: an action on it begins, and the check tells nothing about what follows. */
  forget(server: string): void {
    this.#checks.delete(server);
  }

  /** Returns how the last check of a server ended, or undefined where there was none within 30 s or an action followed it. */
  of(server: string): CheckEnd | undefined {
    const check = this.#checks.get(server);
    return check !== undefined && this.#isFresh(check) ? check.end : undefined;
  }

  #prune(): void {
    for (const [server, check] of this.#checks) {
      if (this.#isFresh(check)) return;
      this.#checks.delete(server);
    }
  }

  #isFresh({ ended }: NotedCheck): boolean {
    return this.#clock.monotonic() - ended <= FRESH_MS;
  }
}
