// Decides when a server is checked. A create requires a check that is at most 30 s old, so that a server which another
// party creates meanwhile is not taken over; docs/decisions/0018. An idle server is checked `checkSeconds` after its
// last action or check. In memory: after a restart no check counts.

import { type Clock, type ClockTimes, msSince, readClocks } from '../../base/clock.ts';
import type { CheckEnd, Next } from '../../machine/decision.ts';
import { driftPolicyOf, isAtRest } from '../../machine/drift.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { fitsProxy, isSameSite, proxyTagsOf, responsibleTags, type Site } from '../../machine/responsibility.ts';
import type { Answer, CallResult } from '../../model/call-result.ts';
import { PROXIED } from '../../model/names.ts';
import type { NodeRecord } from '../../model/record.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { ProviderRegistry } from '../../providers/provider-registry.ts';
import type { CallInFlight } from '../calls/capacity.ts';
import type { Ledger } from '../ledger.ts';
import { responsibleProvider } from '../passes/responsible-provider.ts';

/** How long a check counts from its end. */
const FRESH_MS = 30_000;
/** The longest pause after failed checks, unless `checkSeconds` is longer. */
const PAUSE_MS_MAX = 3_600_000;
/** The share by which a pause differs from `checkSeconds`, up or down. */
const JITTER = 0.1;
/** So many failed checks in a row are shown. */
const FAILURES_SHOWN = 3;

/** The parts that checks are scheduled with. */
export interface ServerChecksOptions {
  readonly ledger: Pick<Ledger, 'server' | 'read'>;
  readonly registry: Pick<ProviderRegistry, 'byName' | 'match'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** In [0, 1). */
  readonly random: () => number;
  /** Returns the merged configuration of a server. Omitted: no proxy has servers. */
  readonly recordOf?: (server: string) => NodeRecord;
  /** Enqueues a server. */
  readonly wake: (server: string) => void;
}

/** Checks of a server that failed, one after the other. */
export interface CheckFailure {
  /** When the first of them ended in this process: milliseconds since 1970. */
  readonly since: number;
  readonly message: string;
}

/** The last check of a server that was answered. */
export interface LastCheck {
  readonly ended: ClockTimes;
  readonly outcome: Answer['outcome'];
}

/** A check that a create may rely on while it is fresh. */
interface NotedCheck {
  readonly checker: Site;
  readonly end: CheckEnd | 'absent';
  readonly ended: ClockTimes;
}

/** The next check of an idle server. */
interface CheckPlan {
  readonly provider: string;
  /** When it is due, by the monotonic clock. From then on it waits for capacity, behind all actions. */
  dueAt: number;
  isRunning: boolean;
  /** A user asked for it: it takes place also if the policy is `off`. */
  isRequested: boolean;
  failures: number;
  failure: CheckFailure | undefined;
  /** Users see the failure. */
  isShown: boolean;
}

/** The checks of one server. */
interface Checked {
  /** The last ones, by sites that may have it; the last one last. */
  noted: readonly NotedCheck[];
  last: LastCheck | undefined;
  plan: CheckPlan | undefined;
}

/** All checks that this process has made or will make. */
export class ServerChecks {
  readonly #options: ServerChecksOptions;
  /** By server that this process has passed over, or checked. */
  readonly #servers = new Map<string, Checked>();

  constructor(options: ServerChecksOptions) {
    this.#options = options;
  }

  /** The servers that {@link failureOf} returns something for. */
  get failing(): ReadonlySet<string> {
    const failing = [...this.#servers].filter(([, { plan }]) => plan?.isShown);
    return new Set(failing.map(([server]) => server));
  }

  /** Returns true if a pass over an idle server may start its check, once there is capacity. */
  isDue(server: string): boolean {
    const plan = this.#planOf(server);
    return plan !== undefined && !plan.isRunning && plan.dueAt <= this.#options.clock.monotonic();
  }

  /** Returns in how many milliseconds the next check of a server is due; undefined if none is planned for later. */
  msLeft(server: string): number | undefined {
    const plan = this.#planOf(server);
    if (plan === undefined || plan.isRunning || this.isDue(server)) return undefined;
    return plan.dueAt - this.#options.clock.monotonic();
  }

  /**
   * Returns how the checks of a server fail, once several have failed in a row; at once if a user asked for the check,
   * or its answer came from another place. Undefined otherwise.
   */
  failureOf(server: string): CheckFailure | undefined {
    const plan = this.#planOf(server);
    return plan?.isShown === true ? plan.failure : undefined;
  }

  /**
   * Returns how the last fresh check of a server ended that a create by a proxy with the tags `own` may rely on, or by
   * any if omitted; undefined if there is none, or an action has followed it.
   */
  lastOf(server: string, own?: readonly string[]): CheckEnd | undefined {
    const { provider, tags } = this.#siteToCheck(server);
    const site = { provider, tags: own === undefined ? tags : tags?.filter((tag) => own.includes(tag)) };
    const noted = this.#servers.get(server)?.noted ?? [];
    const isFresh = ({ ended }: NotedCheck): boolean => msSince(ended, this.#options.clock) <= FRESH_MS;
    const last = noted.findLast((check) => isSameSite(check.checker, site) && isFresh(check));
    return last?.end === 'absent' ? 'answered' : last?.end;
  }

  /** Returns the last check of a server that this process has made; undefined if there is none. */
  lastCheckOf(server: string): LastCheck | undefined {
    return this.#servers.get(server)?.last;
  }

  /** Follows a pass: the row that it has decided on, null if that is removed, and what is next. */
  follow(server: string, row: ServerRow | null, next: Next): void {
    if (row === null) {
      this.#servers.delete(server);
      return;
    }
    // The others were settled when this process started: their checks are spread.
    const isKnown = this.#servers.has(server);
    const checked = this.#checked(server);
    const before = checked.plan;
    // A requested check that has failed is repeated until it is answered, also if the policy is `off`.
    const provider = this.#checkerOf(row, before?.isRequested === true || before?.isShown === true);
    if (provider === null) {
      checked.plan = undefined;
      return;
    }
    const isRoutine = (next.kind === 'check' || next.kind === 'capacity') && next.isRoutine === true;
    const plan = before?.provider === provider ? before : newPlan(provider);
    checked.plan = plan;
    if (plan !== before) this.#planNext(plan, !isKnown);
    else if (isRoutine) plan.isRunning = next.kind === 'check';
    else if (this.isDue(server)) {
      // Neither the check begins nor does it wait for capacity: no entry is responsible for it now.
      plan.isRequested = false;
      this.#planNext(plan);
    }
  }

  /** Notes that an action on a server begins: no create may rely on a check before it. */
  forget(server: string): void {
    this.#checked(server).noted = [];
  }

  /**
   * Notes how a call has ended. Returns true if the next pass has to conclude it: a routine check that failed is no
   * failed try of the action that may have become due meanwhile, and an answer of proxies of a site that is no longer
   * responsible does not count.
   */
  ended(server: string, result: CallResult | undefined, call: CallInFlight): boolean {
    const { isRoutine, tags: asked = [] } = call;
    if (isRoutine) this.#routineEnded(server, result?.answer);
    if (result === undefined) return false;
    if (result.kind === 'check') {
      if (!fitsProxy(asked, this.#responsible(server))) return false;
      // A create needs a check of its own: one answer to a routine check makes no server.
      if (!isRoutine) this.#noteCheck(server, result, asked);
    }
    return !isRoutine || isAnswered(result.answer);
  }

  /**
   * Checks a server as soon as there is capacity, but not within `pauseMs` of its last check, whatever its policy.
   * Returns false if it is not settled.
   */
  request(server: string, pauseMs = 0): boolean {
    const { ledger, clock, wake } = this.#options;
    const row = ledger.server(server);
    const provider = row === undefined ? null : this.#checkerOf(row, true);
    if (provider === null) return false;
    const checked = this.#checked(server);
    checked.plan ??= newPlan(provider);
    const { plan, last } = checked;
    plan.isRequested = true;
    if (plan.isRunning) return true;
    const now = clock.monotonic();
    plan.dueAt = Math.min(plan.dueAt, Math.max(now, (last?.ended.monotonic ?? now - pauseMs) + pauseMs));
    wake(server);
    return true;
  }

  /** Checks a server whose last check has failed as soon as there is capacity. Returns false for any other. */
  retry(server: string): boolean {
    return (this.#planOf(server)?.failures ?? 0) > 0 && this.request(server);
  }

  #planOf(server: string): CheckPlan | undefined {
    return this.#servers.get(server)?.plan;
  }

  #checked(server: string): Checked {
    const known = this.#servers.get(server) ?? { noted: [], last: undefined, plan: undefined };
    this.#servers.set(server, known);
    return known;
  }

  /** A check without an answer was ended for an action: it is still due, and waits for capacity again. */
  #routineEnded(server: string, answer: Answer | undefined): void {
    const checked = this.#servers.get(server);
    const plan = checked?.plan;
    if (checked === undefined || plan?.isRunning !== true) return;
    plan.isRunning = false;
    if (answer === undefined) return;
    this.#noteLast(checked, answer);
    recordEnd(plan, answer, this.#options.clock.now());
    this.#planNext(plan);
  }

  /**
   * If other sites have found a server absent, that still counts for them: otherwise the sites of a list would be asked
   * in turn for ever.
   */
  #noteCheck(server: string, { provider, answer }: CallResult, tags: readonly string[]): void {
    const { ledger, clock } = this.#options;
    // Actions that no row knows may still run: creates rely on checks after the recovery.
    if (ledger.read('recovery', RECOVERY) !== undefined) return;
    const end = answer.outcome === 'done' ? 'answered' : answer.outcome === 'absent' ? 'absent' : 'failed';
    const checker = { provider, tags };
    const checked = this.#checked(server);
    this.#noteLast(checked, answer);
    const kept = checked.noted.filter((check) => check.end === 'absent' && !isSameSite(check.checker, checker));
    checked.noted = [...kept, { checker, end, ended: readClocks(clock) }];
  }

  #noteLast(checked: Checked, { outcome }: Answer): void {
    checked.last = { ended: readClocks(this.#options.clock), outcome };
  }

  /** `isAnyTime`: at any time within `checkSeconds`, so that the checks after a start are spread. */
  #planNext(plan: CheckPlan, isAnyTime = false): void {
    const { registry, random, clock } = this.#options;
    const checkMs = (registry.byName(plan.provider)?.checkSeconds ?? 0) * 1000;
    const ms = isAnyTime ? checkMs * random() : checkPauseMs(checkMs, plan.failures, random());
    plan.dueAt = clock.monotonic() + ms;
  }

  /** Returns the provider entry that checks an idle server, or null if the server is not to be checked. */
  #checkerOf(row: ServerRow, isRequested: boolean): string | null {
    const entry = row.provider === null || !isAtRest(row) ? undefined : this.#options.registry.byName(row.provider);
    if (entry === undefined) return null;
    return isRequested || driftPolicyOf(row, entry.drift) !== 'off' ? row.provider : null;
  }

  #matchOf(server: string): string | undefined {
    const { ledger, registry } = this.#options;
    const wanted = ledger.server(server)?.wanted ?? null;
    return wanted === null ? undefined : registry.match(wanted)?.name;
  }

  /** Returns the tags of the proxies that the next check of a server may ask; none for that of a provider entry. */
  #responsible(server: string): readonly string[] {
    const row = this.#options.ledger.server(server);
    const tags = this.#tagsOf(server);
    if (row === undefined) return tags;
    // The one that is asked next: otherwise its answer would be dropped, and it would be asked again at once.
    const { name } = responsibleProvider(this.#options.registry, row);
    return name === null || name === PROXIED ? (responsibleTags(row, tags) ?? tags) : [];
  }

  /** Returns the site that has to have checked a server for a create to rely on it. */
  #siteToCheck(server: string): Site {
    const row = this.#options.ledger.server(server);
    const provider = row?.wanted === null ? row.provider : this.#matchOf(server);
    return { provider: provider ?? '', tags: this.#tagsOf(server) };
  }

  /** Returns the tags of the proxies that are to have a server; of an unwanted one, those that made it. */
  #tagsOf(server: string): readonly string[] {
    const row = this.#options.ledger.server(server);
    if (row?.wanted === null) return (row.provider === PROXIED && row.proxyTags) || [];
    return this.#matchOf(server) === PROXIED ? proxyTagsOf(this.#options.recordOf?.(server) ?? {}) : [];
  }
}

/** Returns the plan of a server that was not planned before. */
function newPlan(provider: string): CheckPlan {
  const unfailed = { failures: 0, failure: undefined, isShown: false };
  return { provider, dueAt: Number.POSITIVE_INFINITY, isRunning: false, isRequested: false, ...unfailed };
}

/** Returns true if a check shows whether the server is there. */
function isAnswered({ outcome }: Answer): boolean {
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
