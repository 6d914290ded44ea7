// Plans checks of servers at rest: each one `checkSeconds` after its last action or check, in memory. A check that is
// due waits for capacity like any other call, behind all actions; the pass of its server starts it.

import type { Clock } from '../../base/clock.ts';
import type { Next } from '../../machine/decision.ts';
import { driftPolicyOf, isAtRest } from '../../machine/drift.ts';
import type { Answer } from '../../model/call-result.ts';
import type { DriftPolicy } from '../../model/objects.ts';
import type { ServerRow } from '../../model/rows.ts';

/** The longest pause after failed checks, unless `checkSeconds` is longer. */
const PAUSE_MS_MAX = 3_600_000;
/** The share by which a pause differs from `checkSeconds`, up or down. */
const JITTER = 0.1;
/** So many failed checks in a row are shown; one that tells a person something is shown at once. */
const FAILURES_SHOWN = 3;

/** The settings of a provider entry that planning needs. */
export interface CheckedEntry {
  readonly checkSeconds: number;
  readonly drift: DriftPolicy;
}

/** Checks of a server that failed, one after the other. */
export interface CheckFailure {
  /** When the first of them ended in this process: milliseconds since 1970. */
  readonly since: number;
  readonly message: string;
}

/** The plan of one server's next check. */
interface CheckPlan {
  readonly provider: string;
  /** When it is due, by the monotonic clock. From then on it waits for capacity. */
  dueAt: number;
  isRunning: boolean;
  /** A person asked for it: it takes place also where the policy is `off`. */
  isRequested: boolean;
  failures: number;
  failure: CheckFailure | undefined;
  /** A person sees the failure. */
  isShown: boolean;
}

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
   * Servers that this process has passed over, with when their last check was answered, if one was. The others were at
   * rest when it started: their checks are spread.
   */
  readonly #known = new Map<string, number | undefined>();
  readonly #failing = new Set<string>();

  constructor(options: CheckScheduleOptions) {
    this.#options = options;
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
   * Returns how the checks of a server fail, once several have failed in a row; at once where a person asked for the
   * check, or its answer came from another place. Undefined otherwise.
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
    const plan = before?.provider === provider ? before : this.#add(server, provider);
    if (plan !== before) this.#planNext(plan, !isKnown);
    else if (isRoutine) plan.isRunning = next.kind === 'check';
    else if (this.isDue(server)) this.#refuse(plan);
  }

  /**
   * Follows the end of a check that a pass has started. Without an answer it is still due: it was ended for an action,
   * and waits for capacity again.
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
   * Checks a server as soon as there is capacity, but not within `pauseMs` of its last check, whatever its policy.
   * Returns false if it is not at rest.
   */
  request(server: string, pauseMs = 0): boolean {
    const { entryOf, rowOf, clock, wake } = this.#options;
    const row = rowOf(server);
    const provider = row === undefined ? null : chooseChecker(row, entryOf, true);
    if (provider === null) return false;
    const plan = this.#plans.get(server) ?? this.#add(server, provider);
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

  #add(server: string, provider: string): CheckPlan {
    const plan = newPlan(provider);
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

/** Returns the plan of a server that was not planned before. */
function newPlan(provider: string): CheckPlan {
  const unfailed = { failures: 0, failure: undefined, isShown: false };
  return { provider, dueAt: Number.POSITIVE_INFINITY, isRunning: false, isRequested: false, ...unfailed };
}

/** Returns the provider entry that checks a server, or null if the server is not to be checked. */
function chooseChecker(
  row: ServerRow,
  entryOf: (provider: string) => CheckedEntry | undefined,
  isRequested: boolean,
): string | null {
  const entry = row.provider === null || !isAtRest(row) ? undefined : entryOf(row.provider);
  if (entry === undefined) return null;
  return isRequested || driftPolicyOf(row, entry.drift) !== 'off' ? row.provider : null;
}

/** Returns true if a check shows whether the server is there. */
export function isAnswered({ outcome }: Answer): boolean {
  return outcome === 'done' || outcome === 'absent';
}

/** Records how a check has ended: it was answered, or failed. */
function recordEnd(plan: CheckPlan, answer: Answer, now: number): void {
  const isFailed = !isAnswered(answer);
  plan.failures = isFailed ? plan.failures + 1 : 0;
  plan.failure = isFailed ? { since: plan.failure?.since ?? now, message: answer.message } : undefined;
  const isNews = plan.isRequested || answer.isElsewhere === true || plan.failures >= FAILURES_SHOWN;
  plan.isShown = isFailed && (plan.isShown || isNews);
  plan.isRequested = false;
}

/** Returns the pause before the next check: longer after each failed one, and not the same for all servers. */
function checkPauseMs(checkMs: number, failures: number, random: number): number {
  const longer = Math.min(checkMs * 2 ** Math.min(failures, 10), Math.max(checkMs, PAUSE_MS_MAX));
  return longer * (1 - JITTER + 2 * JITTER * random);
}
