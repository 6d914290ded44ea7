// Decides when a server is checked. A create requires a check that is at most 30 s old, so that Treeline does not take
// over a server of another party; docs/decisions/0018. An idle server is checked `checkSeconds` after its last action
// or check. In memory: after a restart no check counts.

import { type Clock, type ClockTimes, msSince, readClocks } from '../../base/clock.ts';
import type { CheckEnd, Next } from '../../machine/decision.ts';
import { driftPolicyOf, isIdle } from '../../machine/drift.ts';
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
/** The largest fraction by which a pause differs from `checkSeconds`. */
const JITTER = 0.1;
/** After this many failed checks in a row, users see the failure. */
const FAILURES_SHOWN = 3;

/** The parts that schedule checks. */
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

/** Consecutive failed checks of a server. */
export interface CheckFailure {
  /** When the first of them ended: milliseconds since 1970. */
  readonly since: number;
  readonly message: string;
}

/** The last check of a server that had an answer. */
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
  /** When it is due, by the monotonic clock. Then it waits for capacity, behind all actions. */
  dueAt: number;
  isRunning: boolean;
  /** A user requested it, so it takes place even if the policy is `off`. */
  isRequested: boolean;
  failures: number;
  failure: CheckFailure | undefined;
  /** Users see the failure. */
  isShown: boolean;
}

/** The checks of one server. */
interface Checked {
  /** The last checks of the sites that may have the server, in order of time. */
  noted: readonly NotedCheck[];
  last: LastCheck | undefined;
  plan: CheckPlan | undefined;
}

/** All checks that this process has made or will make. */
export class ServerChecks {
  readonly #options: ServerChecksOptions;
  /** All servers that this process has checked or run a pass over. */
  readonly #servers = new Map<string, Checked>();

  constructor(options: ServerChecksOptions) {
    this.#options = options;
  }

  /** The servers for which {@link failureOf} returns a failure. */
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
   * Returns the failure of a server's checks once several have failed in a row, or after the first one if a user
   * requested it or if its answer came from another place. Else undefined.
   */
  failureOf(server: string): CheckFailure | undefined {
    const plan = this.#planOf(server);
    return plan?.isShown === true ? plan.failure : undefined;
  }

  /**
   * Returns how the last fresh check ended on which a create by a proxy with the tags `own` may rely, or by any proxy
   * if omitted. Undefined if there is none, or if an action has followed it.
   */
  lastOf(server: string, own?: readonly string[]): CheckEnd | undefined {
    const { provider, tags } = this.#siteToCheck(server);
    const site = { provider, tags: own === undefined ? tags : tags?.filter((tag) => own.includes(tag)) };
    const noted = this.#servers.get(server)?.noted ?? [];
    const isFresh = ({ ended }: NotedCheck): boolean => msSince(ended, this.#options.clock) <= FRESH_MS;
    const last = noted.findLast((check) => isSameSite(check.checker, site) && isFresh(check));
    return last?.end === 'absent' ? 'answered' : last?.end;
  }

  /** Returns the last check of a server by this process; undefined if there is none. */
  lastCheckOf(server: string): LastCheck | undefined {
    return this.#servers.get(server)?.last;
  }

  /**
   * Updates the plan after a pass. `row`: the row that the pass decided on, null if it is removed. `next`: what
   * follows.
   */
  follow(server: string, row: ServerRow | null, next: Next): void {
    if (row === null) {
      this.#servers.delete(server);
      return;
    }
    // Servers that were settled before this process started are not known: their first checks are spread.
    const isKnown = this.#servers.has(server);
    const checked = this.#checked(server);
    const before = checked.plan;
    // A failed requested check is repeated until it is answered, even if the policy is `off`.
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
      // The check neither begins nor waits for capacity, because no entry is responsible for the server now.
      plan.isRequested = false;
      this.#planNext(plan);
    }
  }

  /** Records that an action on a server begins: no create may rely on an earlier check. */
  forget(server: string): void {
    this.#checked(server).noted = [];
  }

  /**
   * Records how a call has ended. Returns true if the next pass has to conclude it. A failed routine check is not a
   * failed try of an action that has become due since, and an answer from a site that is no longer responsible does not
   * count.
   */
  ended(server: string, result: CallResult | undefined, call: CallInFlight): boolean {
    const { isRoutine, tags: asked = [] } = call;
    if (isRoutine) this.#routineEnded(server, result?.answer);
    if (result === undefined) return false;
    if (result.kind === 'check') {
      if (!fitsProxy(asked, this.#responsible(server))) return false;
      // A create does not rely on a routine check, so that one wrong answer does not create a server.
      if (!isRoutine) this.#noteCheck(server, result, asked);
    }
    return !isRoutine || isAnswered(result.answer);
  }

  /**
   * Checks a server under any policy as soon as there is capacity, but not within `pauseMs` of its last check. Returns
   * false if the server is not settled.
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

  /** Checks a server as soon as there is capacity if its last check failed. Returns false for any other. */
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

  /** A check without an answer was ended in favour of an action: it is still due, and waits for capacity again. */
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
   * Keeps the results of other sites that found the server absent. Otherwise the sites of a server with several tags
   * would be asked in turn forever.
   */
  #noteCheck(server: string, { provider, answer }: CallResult, tags: readonly string[]): void {
    const { ledger, clock } = this.#options;
    // During a recovery, unrecorded actions may still run, so creates must rely on later checks.
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

  /** `isAnyTime`: at a random time within `checkSeconds`, so that the checks after a start are spread. */
  #planNext(plan: CheckPlan, isAnyTime = false): void {
    const { registry, random, clock } = this.#options;
    const checkMs = (registry.byName(plan.provider)?.checkSeconds ?? 0) * 1000;
    const ms = isAnyTime ? checkMs * random() : checkPauseMs(checkMs, plan.failures, random());
    plan.dueAt = clock.monotonic() + ms;
  }

  /** Returns the provider entry that checks an idle server, or null if it must not be checked. */
  #checkerOf(row: ServerRow, isRequested: boolean): string | null {
    const entry = row.provider === null || !isIdle(row) ? undefined : this.#options.registry.byName(row.provider);
    if (entry === undefined) return null;
    return isRequested || driftPolicyOf(row, entry.drift) !== 'off' ? row.provider : null;
  }

  #matchOf(server: string): string | undefined {
    const { ledger, registry } = this.#options;
    const wanted = ledger.server(server)?.wanted ?? null;
    return wanted === null ? undefined : registry.match(wanted)?.name;
  }

  /** Returns the tags of the proxies that the next check of a server may ask; none if a provider entry checks it. */
  #responsible(server: string): readonly string[] {
    const row = this.#options.ledger.server(server);
    const tags = this.#tagsOf(server);
    if (row === undefined) return tags;
    // The same choice as for the next call. Otherwise the answer would be dropped, and the check repeated without end.
    const { name } = responsibleProvider(this.#options.registry, row);
    return name === null || name === PROXIED ? (responsibleTags(row, tags) ?? tags) : [];
  }

  /** Returns the site whose checks of a server count for a create. */
  #siteToCheck(server: string): Site {
    const row = this.#options.ledger.server(server);
    const provider = row?.wanted === null ? row.provider : this.#matchOf(server);
    return { provider: provider ?? '', tags: this.#tagsOf(server) };
  }

  /** Returns the tags of the proxies for a server; for an unwanted server, of those that created it. */
  #tagsOf(server: string): readonly string[] {
    const row = this.#options.ledger.server(server);
    if (row?.wanted === null) return (row.provider === PROXIED && row.proxyTags) || [];
    return this.#matchOf(server) === PROXIED ? proxyTagsOf(this.#options.recordOf?.(server) ?? {}) : [];
  }
}

/** Returns the first plan of a server. */
function newPlan(provider: string): CheckPlan {
  const unfailed = { failures: 0, failure: undefined, isShown: false };
  return { provider, dueAt: Number.POSITIVE_INFINITY, isRunning: false, isRequested: false, ...unfailed };
}

/** Returns true if the answer shows whether the server exists. */
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

/** Returns the pause before the next check: longer after each failure, with jitter. */
function checkPauseMs(checkMs: number, failures: number, random: number): number {
  const longer = Math.min(checkMs * 2 ** Math.min(failures, 10), Math.max(checkMs, PAUSE_MS_MAX));
  return longer * (1 - JITTER + 2 * JITTER * random);
}
