// Schedules checks of servers at rest: each one `checkSeconds` after its last action or check, in memory, with one timer
// for all. check-calls.ts starts them.
import type { Clock } from '../clock.ts';
import type { Capacity } from '../execute/capacity.ts';
import type { Answer } from '../model/call-result.ts';
import type { ServerRow } from '../model/rows.ts';
import { CheckCalls } from './check-calls.ts';
import {
  type CheckedEntry,
  type CheckFailure,
  type CheckPlan,
  type CheckStep,
  checkerOf,
  checkPauseMs,
  newPlan,
  noteOutcome,
} from './check-plan.ts';
import { TimedNames } from './timed-names.ts';

/** The pause of a check that was ended for an action. */
const YIELDED_MS = 5_000;

/** The parts and limits that scheduling uses. */
export interface CheckScheduleOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** Concurrent calls of all provider entries. */
  readonly concurrency: number;
  readonly capacity: Pick<Capacity, 'hasCapacity'>;
  readonly entryOf: (provider: string) => CheckedEntry | undefined;
  readonly rowOf: (server: string) => ServerRow | undefined;
  /** Returns true if proxies take the calls of an entry when they like. */
  readonly isPulled: (provider: string) => boolean;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
  /** Ends the check of a server that is in flight. */
  readonly endCall: (server: string) => void;
}

/** The scheduled and requested checks of all servers at rest. */
export class CheckSchedule {
  readonly #options: CheckScheduleOptions;
  readonly #plans = new Map<string, CheckPlan>();
  readonly #times: TimedNames;
  readonly #calls: CheckCalls;
  /** Servers that this process has passed over. The others were at rest when it started: their checks are spread. */
  readonly #known = new Set<string>();
  readonly #startedAt: number;

  constructor(options: CheckScheduleOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#times = new TimedNames(options.clock, (servers) => this.#onDue(servers));
    const concurrencyOf = (provider: string): number => options.entryOf(provider)?.concurrency ?? 0;
    this.#calls = new CheckCalls({ ...options, concurrencyOf });
  }

  /** Number of servers that are scheduled. */
  get size(): number {
    return this.#plans.size;
  }

  /** Returns true if the next pass over a server may start its check. */
  isDue(server: string): boolean {
    return this.#plans.get(server)?.phase === 'offered';
  }

  /**
   * Returns how the checks of a server fail, once several have failed in a row; at once where a person asked for the check, or
   * its answer came from another place. Undefined otherwise.
   */
  failureOf(server: string): CheckFailure | undefined {
    const plan = this.#plans.get(server);
    return plan?.isShown === true ? plan.failure : undefined;
  }

  /** Notes the row that a pass has decided on; null: it is removed. */
  follow(server: string, row: ServerRow | null, step: CheckStep = 'none'): void {
    const plan = this.#plans.get(server);
    const provider = row === null ? null : checkerOf(row, this.#options.entryOf, plan?.isRequested ?? false);
    const isKnown = this.#known.has(server);
    if (row === null) this.#known.delete(server);
    else this.#known.add(server);
    if (provider === null || (plan !== undefined && plan.provider !== provider)) this.#drop(server);
    if (row === null || provider === null) this.#calls.yield(server);
    else if (step === 'begins') this.#begin(server);
    else if (this.isDue(server) && step === 'none') this.#refuse(server);
    else if (!this.#plans.has(server)) this.#planNext(server, this.#add(server, row, provider, isKnown), !isKnown);
  }

  /** Notes that a call has ended; only the checks that this schedule has begun count. Returns true if it was one. */
  ended(server: string, answer: Answer | undefined): boolean {
    const call = this.#calls.end(server);
    if (call === undefined) return false;
    const plan = this.#plans.get(server);
    if (plan?.phase !== 'running') return true;
    const isAnswered = answer?.outcome === 'done' || answer?.outcome === 'absent';
    if (call.hasYielded && !isAnswered) this.#plan(server, plan, YIELDED_MS);
    else {
      noteOutcome(plan, answer, this.#options.clock.now());
      this.#planNext(server, plan);
    }
    return true;
  }

  /** Checks a server as soon as there is capacity, whatever its policy. Returns false if it is not at rest. */
  request(server: string): boolean {
    const row = this.#options.rowOf(server);
    const provider = row === undefined ? null : checkerOf(row, this.#options.entryOf, true);
    if (row === undefined || provider === null) return false;
    const plan = this.#plans.get(server) ?? this.#add(server, row, provider, true);
    plan.isRequested = true;
    if (plan.phase === 'planned') this.#makeReady(server, plan);
    this.offer();
    return true;
  }

  /** Ends a check of that provider entry, or of any, since an action waits for capacity. */
  giveBack(provider: string): void {
    this.#calls.yieldOne(provider);
  }

  /** Wakes the servers whose check is due and finds capacity that nothing else waits for. */
  offer(): void {
    for (let server = this.#calls.take(); server !== undefined; server = this.#calls.take()) {
      const plan = this.#plans.get(server);
      if (plan !== undefined) plan.phase = 'offered';
      this.#options.wake(server);
    }
  }

  /** Ends all scheduling. */
  stop(): void {
    this.#times.stop();
  }

  #add(server: string, row: ServerRow, provider: string, isKnown: boolean): CheckPlan {
    const plan = newPlan(provider, row, isKnown ? undefined : this.#startedAt);
    this.#plans.set(server, plan);
    return plan;
  }

  #begin(server: string): void {
    const plan = this.#plans.get(server);
    if (plan === undefined) return;
    plan.phase = 'running';
    this.#calls.begin(server, plan.provider);
  }

  /** The pass did not start it: an action took the capacity, or its entry is not responsible any more. */
  #refuse(server: string): void {
    const plan = this.#plans.get(server);
    if (plan === undefined) return;
    this.#calls.end(server);
    if (lacksCapacity(plan, this.#options)) {
      this.#makeReady(server, plan);
      return;
    }
    plan.isRequested = false;
    this.#planNext(server, plan);
  }

  #drop(server: string): void {
    const plan = this.#plans.get(server);
    if (plan === undefined) return;
    this.#plans.delete(server);
    this.#times.delete(server);
    this.#calls.delete(server, plan.provider, plan.instance);
  }

  /** `isAnyTime`: at any time within `checkSeconds`, so that the checks after a start are spread. */
  #planNext(server: string, plan: CheckPlan, isAnyTime = false): void {
    const { entryOf, random } = this.#options;
    const checkMs = (entryOf(plan.provider)?.checkSeconds ?? 0) * 1000;
    this.#plan(server, plan, isAnyTime ? checkMs * random() : checkPauseMs(checkMs, plan.failures, random()));
  }

  #plan(server: string, plan: CheckPlan, ms: number): void {
    plan.phase = 'planned';
    this.#times.set(server, ms);
  }

  #makeReady(server: string, plan: CheckPlan): void {
    plan.phase = 'ready';
    this.#times.delete(server);
    this.#calls.add(server, plan.provider, plan.instance);
  }

  #onDue(servers: readonly string[]): void {
    for (const server of servers) {
      const plan = this.#plans.get(server);
      if (plan !== undefined) this.#makeReady(server, plan);
    }
    this.offer();
  }
}

/** Proxies take a check when they like: theirs never waits for capacity, and where it is refused, there is no proxy for it. */
function lacksCapacity(
  { provider }: CheckPlan,
  { capacity, isPulled }: Pick<CheckScheduleOptions, 'capacity' | 'isPulled'>,
): boolean {
  return !isPulled(provider) && !capacity.hasCapacity(provider);
}
