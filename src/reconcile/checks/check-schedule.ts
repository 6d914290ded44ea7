// Plans checks of servers at rest: each one `checkSeconds` after its last action or check, in memory. A check that is due waits
// for capacity like any other call, behind all actions; the pass of its server starts it.

import type { Clock } from '../../base/clock.ts';
import type { Next } from '../../machine/decision.ts';
import type { Answer } from '../../model/call-result.ts';
import type { ServerRow } from '../../model/rows.ts';
import {
  type CheckedEntry,
  type CheckFailure,
  type CheckPlan,
  checkPauseMs,
  chooseChecker,
  newPlan,
  recordEnd,
} from './check-plan.ts';

/** What planning reads. */
export interface CheckScheduleOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly entryOf: (provider: string) => CheckedEntry | undefined;
  readonly rowOf: (server: string) => ServerRow | undefined;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
}

/** The scheduled and requested checks of all servers at rest. */
export class CheckSchedule {
  readonly #options: CheckScheduleOptions;
  readonly #plans = new Map<string, CheckPlan>();
  /**
   * Servers that this process has passed over, with when their last check was answered, if one was. The others were at rest when
   * it started: their checks are spread.
   */
  readonly #known = new Map<string, number | undefined>();
  readonly #startedAt: number;
  readonly #failing = new Set<string>();

  constructor(options: CheckScheduleOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
  }

  /** Number of servers that are scheduled. */
  get size(): number {
    return this.#plans.size;
  }

  /** Returns true if a server is at rest, and is to be checked from time to time or at the request of a person. */
  isPlanned(server: string): boolean {
    return this.#plans.has(server);
  }

  /** Returns true if a pass over a server may start its check, once there is capacity. */
  isDue(server: string): boolean {
    const plan = this.#plans.get(server);
    return plan !== undefined && !plan.isRunning && plan.dueAt <= this.#options.clock.monotonic();
  }

  /** Returns in how many milliseconds the next check of a server is due; undefined if none is planned for later. */
  msLeft(server: string): number | undefined {
    const plan = this.#plans.get(server);
    if (plan === undefined || plan.isRunning || this.isDue(server)) return undefined;
    return plan.dueAt - this.#options.clock.monotonic();
  }

  /**
   * Returns how the checks of a server fail, once several have failed in a row; at once where a person asked for the check, or
   * its answer came from another place. Undefined otherwise.
   */
  failureOf(server: string): CheckFailure | undefined {
    const plan = this.#plans.get(server);
    return plan?.isShown === true ? plan.failure : undefined;
  }

  /** The servers that {@link failureOf} tells something of. */
  get failing(): ReadonlySet<string> {
    return this.#failing;
  }

  /** Follows what a pass has decided: the row, null if it is removed, and what is next. */
  follow(server: string, row: ServerRow | null, next: Next): void {
    const before = this.#plans.get(server);
    const provider = row === null ? null : chooseChecker(row, this.#options.entryOf, before?.isRequested ?? false);
    const isKnown = this.#known.has(server);
    if (row === null) this.#known.delete(server);
    else if (!isKnown) this.#known.set(server, undefined);
    if (provider === null) {
      this.#plans.delete(server);
      this.#failing.delete(server);
      return;
    }
    const isRoutine = (next.kind === 'check' || next.kind === 'capacity') && next.isRoutine === true;
    const plan = before?.provider === provider ? before : this.#add(server, provider, isKnown);
    if (plan !== before) this.#planNext(plan, !isKnown);
    else if (isRoutine) plan.isRunning = next.kind === 'check';
    else if (this.isDue(server)) this.#refuse(plan);
  }

  /**
   * Follows the end of a check that a pass has started. Without an answer it is still due: it was ended for an action, and
   * waits for capacity again.
   */
  ended(server: string, answer: Answer | undefined): void {
    const plan = this.#plans.get(server);
    if (plan?.isRunning !== true) return;
    plan.isRunning = false;
    if (answer === undefined) return;
    this.#known.set(server, this.#options.clock.monotonic());
    recordEnd(plan, answer, this.#options.clock.now());
    if (plan.isShown) this.#failing.add(server);
    else this.#failing.delete(server);
    this.#planNext(plan);
  }

  /**
   * Checks a server as soon as there is capacity, but not within `pauseMs` of its last check, whatever its policy. Returns false
   * if it is not at rest.
   */
  request(server: string, pauseMs = 0): boolean {
    const { entryOf, rowOf, clock, wake } = this.#options;
    const row = rowOf(server);
    const provider = row === undefined ? null : chooseChecker(row, entryOf, true);
    if (provider === null) return false;
    const plan = this.#plans.get(server) ?? this.#add(server, provider, true);
    plan.isRequested = true;
    if (plan.isRunning) return true;
    const now = clock.monotonic();
    plan.dueAt = Math.min(plan.dueAt, Math.max(now, (this.#known.get(server) ?? now - pauseMs) + pauseMs));
    wake(server);
    return true;
  }

  /** Checks a server whose last check has failed as soon as there is capacity. Returns false for any other. */
  retry(server: string): boolean {
    return (this.#plans.get(server)?.failures ?? 0) > 0 && this.request(server);
  }

  #add(server: string, provider: string, isKnown: boolean): CheckPlan {
    const plan = newPlan(provider, isKnown ? undefined : this.#startedAt);
    this.#plans.set(server, plan);
    this.#failing.delete(server);
    return plan;
  }

  /** Neither the check begins nor does it wait for capacity: no entry is responsible for it now. */
  #refuse(plan: CheckPlan): void {
    plan.isRequested = false;
    this.#planNext(plan);
  }

  /** `isAnyTime`: at any time within `checkSeconds`, so that the checks after a start are spread. */
  #planNext(plan: CheckPlan, isAnyTime = false): void {
    const { entryOf, random, clock } = this.#options;
    const checkMs = (entryOf(plan.provider)?.checkSeconds ?? 0) * 1000;
    const ms = isAnyTime ? checkMs * random() : checkPauseMs(checkMs, plan.failures, random());
    plan.dueAt = clock.monotonic() + ms;
  }
}
