// The time in which leases run and standbys look. While one replica leads and nothing happens to any, it stands still: nothing would follow
// from what is renewed and looked for every second, and it would be most of what is played.
import type { Life, Scheduler } from './scheduler.ts';

/** How long it goes on after something has happened: a takeover takes a few leases at most. */
const MOVES_MS = 60_000;

export class ReplicaTime {
  readonly #scheduler: Scheduler;
  /** One replica leads, and all run and reach the database. */
  readonly #isSettled: () => boolean;
  #stoppedAt: number | undefined;
  #stoodMs = 0;
  #movesUntil = MOVES_MS;
  /** What has come due since it stands still. */
  #held: (() => void)[] = [];

  constructor(scheduler: Scheduler, isSettled: () => boolean) {
    this.#scheduler = scheduler;
    this.#isSettled = isSettled;
  }

  get now(): number {
    return (this.#stoppedAt ?? this.#scheduler.now) - this.#stoodMs;
  }

  /** As of the scheduler. What comes due while the time stands still runs when it moves again, which is too early for this time. */
  after(ms: number, life: Life, run: () => void): () => void {
    let cancel: () => void;
    let isCancelled = false;
    const fire = (): void => {
      if (isCancelled) return;
      if (!this.#isStill()) run();
      else
        this.#held.push(() => {
          cancel = this.#scheduler.after(0, life, fire);
        });
    };
    cancel = this.#scheduler.after(ms, life, fire);
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  /** Something happens to a replica, and lasts so long. */
  move(ms = 0): void {
    const { now } = this.#scheduler;
    this.#movesUntil = Math.max(this.#movesUntil, now + ms + MOVES_MS);
    if (this.#stoppedAt === undefined) return;
    this.#stoodMs += now - this.#stoppedAt;
    this.#stoppedAt = undefined;
    const held = this.#held;
    this.#held = [];
    for (const resume of held) resume();
  }

  #isStill(): boolean {
    const { now } = this.#scheduler;
    if (this.#stoppedAt === undefined && now > this.#movesUntil && this.#isSettled()) this.#stoppedAt = now;
    return this.#stoppedAt !== undefined;
  }
}
