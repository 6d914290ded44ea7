// Decides when a commit status may be sent: the first one and the last one of a commit at once, those between at growing
// distances, and one that the forge refused after growing waits, for a day. Times are those of the monotonic clock.

import { backoffMs } from '../machine/call-outcome.ts';
import type { CommitStatus } from '../model/rows.ts';
import type { WantedStatus } from './wanted-statuses.ts';

/** What was sent of one status of one commit. */
interface Sent {
  readonly at: number;
  /** Number of changes of the state. */
  readonly changes: number;
  /** Number of changes of the description alone. */
  readonly updates: number;
}

interface Refused {
  readonly state: CommitStatus['state'];
  readonly since: number;
  readonly attempts: number;
  readonly until: number;
}

const DISTANCE_MS = 10_000;
const DISTANCE_MS_MAX = 3_600_000;
const RETRY = { attempts: 1, firstSeconds: 5, maxSeconds: 600, failedSeconds: 600 };
/** No wait is shorter. */
const RETRY_MS_MIN = 1_000;
const GIVE_UP_MS = 24 * 3_600_000;

/** Returns the wait after that many failures in a row, in milliseconds. `random` is in [0, 1). */
export function retryMs(failures: number, random: () => number): number {
  return RETRY_MS_MIN + backoffMs(RETRY, failures, random);
}

/** When each status may be sent. */
export class Pace {
  readonly #sent = new Map<string, Sent>();
  readonly #refused = new Map<string, Refused>();
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Returns when a status may be sent; `before` is what was accepted last. Infinity: it was given up. */
  dueAt(wanted: WantedStatus, before: CommitStatus | null): number {
    const refused = this.#refused.get(keyOf(wanted));
    const until = refused?.state === wanted.state ? refused.until : 0;
    return Math.max(until, this.#distanceEnd(wanted, before));
  }

  /** Notes that the forge accepted a status. */
  accepted(wanted: WantedStatus, before: CommitStatus | null, now: number): void {
    const { changes = 0, updates = 0 } = this.#sent.get(keyOf(wanted)) ?? {};
    const isChange = before?.state !== wanted.state;
    this.#sent.set(keyOf(wanted), {
      at: now,
      changes: changes + (isChange ? 1 : 0),
      updates: isChange ? updates : updates + 1,
    });
    this.#refused.delete(keyOf(wanted));
  }

  /** Notes that the forge refused a status. Returns true if it is given up now. */
  refused(wanted: WantedStatus, now: number): boolean {
    const known = this.#refused.get(keyOf(wanted));
    const last = known?.state === wanted.state ? known : { since: now, attempts: 0 };
    const attempts = last.attempts + 1;
    const isGivenUp = now - last.since >= GIVE_UP_MS;
    const until = isGivenUp ? Number.POSITIVE_INFINITY : now + retryMs(attempts, this.#random);
    this.#refused.set(keyOf(wanted), { state: wanted.state, since: last.since, attempts, until });
    return isGivenUp;
  }

  /** Forgets all but these statuses. */
  forgetOthers(wanted: readonly WantedStatus[]): void {
    const keys = new Set(wanted.map(keyOf));
    for (const map of [this.#sent, this.#refused]) for (const key of map.keys()) if (!keys.has(key)) map.delete(key);
  }

  /** The distance doubles, so that a status that changes for a week has some hundred updates: forges limit their number. */
  #distanceEnd(wanted: WantedStatus, before: CommitStatus | null): number {
    const sent = this.#sent.get(keyOf(wanted));
    if (sent === undefined || isLast(wanted)) return 0;
    const count = before?.state === wanted.state ? sent.changes + sent.updates : sent.changes;
    return sent.at + Math.min(DISTANCE_MS_MAX, DISTANCE_MS * 2 ** Math.min(count - 1, 30));
  }
}

/** Returns true for a status that ends the work on a commit: no other one follows. */
function isLast({ context, state }: WantedStatus): boolean {
  return context === 'apply' && (state === 'success' || state === 'superseded');
}

function keyOf({ commit, context }: WantedStatus): string {
  return `${commit} ${context}`;
}
