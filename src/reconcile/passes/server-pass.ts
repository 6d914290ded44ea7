// Runs one pass over one server: reads its row, concludes its last call, decides, writes the row, and carries out the
// decision. machine/decide.ts makes the decisions.
import type { AuditLog } from '../../base/audit-log.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../../base/log-once-a-minute.ts';
import type { SecretRules } from '../../machine/call-outcome.ts';
import { conclude } from '../../machine/conclude.ts';
import { decide, OUTPUT_CHECK_MS } from '../../machine/decide.ts';
import { type DecisionContext, type Next, type Step, waitIn } from '../../machine/decision.ts';
import { judgePlace, withPlace } from '../../machine/place.ts';
import { reasonText } from '../../machine/reasons.ts';
import { removalChanges } from '../../machine/removals.ts';
import { latestEnd } from '../../machine/wait.ts';
import type { CallResult } from '../../model/call-result.ts';
import type { Change, RunningAction, ServerRow } from '../../model/rows.ts';
import type { ProviderRegistry } from '../../providers/provider-registry.ts';
import type { CallInFlight } from '../calls/capacity.ts';
import type { Executor } from '../calls/executor.ts';
import type { Absences } from '../checks/absences.ts';
import type { ServerChecks } from '../checks/server-checks.ts';
import type { Ledger } from '../ledger.ts';
import type { Queue } from '../queue.ts';
import type { ProxyOffers } from '../waits/proxy-offers.ts';
import type { ClaimedPasses } from './claimed-passes.ts';

const REPEAT_MS = 300_000;

/** The parts that a pass uses. */
export interface ServerPassOptions extends SecretRules {
  readonly ledger: Ledger;
  readonly registry: ProviderRegistry;
  readonly clock: Clock;
  readonly graceMs: number;
  readonly log: Logger;
  readonly executor: Executor;
  /** The servers that wait for a proxy. */
  readonly offers: ProxyOffers;
  /** Called when there may be capacity for another server. */
  readonly freed: () => void;
  /** See ProxyPresence.silentMs. */
  readonly silentMs: (tags: readonly string[]) => number | undefined;
  readonly queue: Pick<Queue, 'add' | 'addAfter'>;
  readonly contextOf: (server: string) => DecisionContext;
  /** The claims of proxies. */
  readonly claims: Pick<ClaimedPasses, 'accepts'>;
  /** Schedules checks from the calls and rows of passes. */
  readonly checks: ServerChecks;
  /** Tracks which sites have found servers. */
  readonly absences: Absences;
  /** Requests a new judgement of held deletes. */
  readonly review: () => void;
  /** In [0, 1). */
  readonly random: () => number;
  /** Records each delete that begins, once its intent is durable. Omitted: there is no audit log. */
  readonly audit?: Pick<AuditLog, 'record'> | undefined;
}

/** Runs passes, one at a time for each server. */
export class ServerPass {
  readonly #options: ServerPassOptions;
  /** Limits the log lines about answers from other places, by entry and places. */
  readonly #logElsewhereOnceAMinute: LogOnceAMinute;
  /** Results that no pass has concluded yet. */
  readonly #results = new Map<string, CallResult>();
  /** Instances that lost a server. Their own rows are removed after the last server. */
  readonly #smaller = new Set<string>();
  /** The last operation on each server, for the log. */
  readonly #operations = new Map<string, string>();

  constructor(options: ServerPassOptions) {
    this.#options = options;
    this.#logElsewhereOnceAMinute = logOnceAMinute(options.clock);
  }

  /** Returns the result of a call with its site. A result from another place than before is not an answer. */
  judged(name: string, result: CallResult, call?: CallInFlight): CallResult {
    const { ledger, log } = this.#options;
    const row = ledger.server(name);
    if (row === undefined) return result;
    const tags = result.kind === 'check' ? call?.tags : row.proxyTags;
    const known = {
      under: (key: string) => ledger.index.foundAt(key),
      rowOf: (server: string) => ledger.server(server),
    };
    const judged = judgePlace(row, { ...result, tags }, known);
    const reason = judged.answer.isElsewhere === true ? judged.answer.message : undefined;
    const repeats = reason === undefined ? undefined : this.#logElsewhereOnceAMinute(reason);
    const fields = { server: name, provider: result.provider, reason, ...repeats };
    if (repeats) log.warn(fields, 'an answer came from another place, and counts for nothing');
    return judged;
  }

  /** Records how a call ended; the next pass concludes it. `call` is omitted if another process began the call. */
  noteResult(name: string, result: CallResult, call?: CallInFlight): void {
    this.#options.absences.ended(name, result, call);
    this.#results.set(name, result);
  }

  hasResult(name: string): boolean {
    return this.#results.has(name);
  }

  noteOperation(name: string, operation: string): void {
    this.#operations.set(name, operation);
  }

  /**
   * Runs the pass. Returns true if it changed the row or began a call. Throws if the row cannot be written; then
   * nothing was done.
   */
  async run(name: string): Promise<boolean> {
    const { ledger, checks } = this.#options;
    const row = ledger.server(name);
    if (row === undefined) {
      this.#results.delete(name);
      this.#updateLine(name, { kind: 'rest' });
      checks.follow(name, null, { kind: 'rest' });
      await this.#forgetEmptied();
      return false;
    }
    const { row: after, next } = this.#step(name, row);
    this.#prepare(name, after, next);
    if (after !== row) await this.#write(name, row, after);
    this.#results.delete(name);
    if (after !== null) this.#carryOut(name, after, next);
    // The wait may have ended while the row was written.
    if (after !== row && waitIn(next) !== undefined && next.kind !== 'time') this.#options.queue.add(name);
    if (after?.state !== row.state) this.#logStep(name, row, after);
    if (after !== null) return after !== row || isCall(next);
    this.#smaller.add(row.instance);
    // If this fails, the next pass finds no row and tries again.
    await this.#forgetEmptied();
    return true;
  }

  #step(name: string, row: ServerRow): Step {
    const { registry, clock, random, isSecret, isReference, contextOf, executor } = this.#options;
    const result = this.#results.get(name);
    const entry = registry.byName(result?.provider ?? '');
    const hasManyGone = (): boolean => this.#options.absences.areMany(name, row, clock.now());
    const rules = { ...(isSecret && { isSecret }), ...(isReference && { isReference }) };
    const facts = { now: clock.now(), random, ...rules, hasManyGone, lostBecause: executor.lostBecause(name) };
    const own = entry && { retry: entry.retry, drift: entry.drift, proxyTags: result?.tags };
    const concluded = result !== undefined && own !== undefined ? conclude(row, result, { ...facts, ...own }) : row;
    if (concluded === null) return { row: null, next: { kind: 'rest' } };
    const judged = result === undefined ? concluded : withPlace(concluded, result);
    const step = decide(judged, contextOf(name));
    return this.#options.claims.accepts(name, step) ? step : decide(judged, contextOf(name));
  }

  /** Claims before the first await, so that no other pass takes the same slot. */
  #prepare(name: string, after: ServerRow | null, next: Next): void {
    const { executor, ledger, checks, queue } = this.#options;
    const isRoutine = next.kind === 'check' && next.isRoutine === true;
    if (isCall(next)) {
      executor.capacity.claim(name, next.provider, next.kind === 'check' ? { isRoutine, tags: next.tags } : {});
      // A routine check does not count as a change in its group.
      if (!isRoutine) ledger.index.setInFlight(name, true);
    }
    this.#updateLine(name, next);
    checks.follow(name, after, next);
    const checkMs = checks.msLeft(name);
    if (checkMs !== undefined) queue.addAfter(name, checkMs);
  }

  /** Puts a server into the line that it waits in, and removes it from every other line. */
  #updateLine(name: string, next: Next): void {
    const { executor, offers, freed, queue, silentMs } = this.#options;
    const wait = next.kind === 'capacity' ? next : undefined;
    if (wait?.tags === undefined) offers.delete(name);
    else offers.add(name, wait.tags, wait);
    const untilSilentMs = wait?.tags === undefined || wait.isRoutine ? undefined : silentMs(wait.tags);
    if (untilSilentMs !== undefined) queue.addAfter(name, untilSilentMs);
    if (wait === undefined || wait.tags !== undefined) executor.capacity.leave(name);
    else executor.capacity.wait(name, { provider: wait.provider, isRoutine: wait.isRoutine === true });
    executor.capacity.release(name);
    freed();
  }

  /**
   * The removal row of a delete without approval, which counts against the budget, is written together with the intent.
   */
  async #write(name: string, row: ServerRow, after: ServerRow | null): Promise<void> {
    const { ledger, clock, executor } = this.#options;
    const change: Change = { kind: 'server', name, value: after, expected: row };
    try {
      const now = clock.now();
      await ledger.commit([change, ...removalChanges(ledger, { server: name, row, after, now })], {
        kind: 'pass',
        now,
      });
    } catch (error) {
      executor.capacity.end(name);
      executor.capacity.release(name);
      ledger.index.setInFlight(name, false);
      throw error;
    }
    if (after?.action?.operation === 'delete' && after.action !== row.action)
      this.#auditDelete(name, after, after.action);
  }

  #auditDelete(server: string, { instance, commit, approved, wanted }: ServerRow, action: RunningAction): void {
    this.#options.audit?.record({
      kind: wanted === null ? 'delete' : 'replacement',
      decision: 'begun',
      server,
      instance,
      commit,
      approved: approved || action.isApproved === true,
      action: action.id,
      proxy: action.claim?.client,
    });
  }

  #carryOut(name: string, row: ServerRow, next: Next): void {
    const { executor, queue, checks, review, clock } = this.#options;
    if (next.kind === 'check') executor.check(name, row, next.provider);
    // No create may rely on a check from before an action.
    if (next.kind === 'run') checks.forget(name);
    if (next.kind === 'run') executor.run(name, row);
    if (next.kind === 'again') queue.add(name);
    if (next.kind === 'budget') review();
    if (next.kind === 'output' && next.until !== undefined) checks.request(next.server, OUTPUT_CHECK_MS);
    const until = passTime(row, next);
    if (until !== undefined) queue.addAfter(name, Math.min(until - clock.now(), passMsMax(next)));
  }

  /** Removes the rows of unwanted instances without servers, and their suspensions. */
  async #forgetEmptied(): Promise<void> {
    const { ledger, clock } = this.#options;
    for (const name of this.#smaller) if (ledger.index.hasServers(name)) this.#smaller.delete(name);
    const emptied = [...this.#smaller];
    const changes = emptied.flatMap((name) => forgetInstance(ledger, name));
    await ledger.commit(changes, { kind: 'pass', now: clock.now() });
    for (const name of emptied) this.#smaller.delete(name);
  }

  #logStep(server: string, { state: from }: ServerRow, after: ServerRow | null): void {
    const operation = this.#operations.get(server);
    const to = after?.state ?? 'gone';
    const { instance, attempt } = after ?? {};
    const reason = reasonText(after?.reason ?? null) || undefined;
    this.#options.log.info({ operation, server, instance, from, to, reason, attempt }, 'state');
    if (after === null) this.#operations.delete(server);
  }
}

function isCall(next: Next): next is Extract<Next, { readonly kind: 'check' | 'run' }> {
  return next.kind === 'check' || next.kind === 'run';
}

/** Returns when the next pass over a server follows at the latest; undefined if only an event enqueues it. */
function passTime(row: ServerRow, next: Next): number | undefined {
  const wait = waitIn(next);
  // A check may wait for capacity longer than its server waits for the next try.
  if (wait?.kind === 'capacity') return row.due === null ? undefined : Date.parse(row.due);
  return wait && latestEnd(wait);
}

/** The wall clock may be set, so a wait for a wall-clock time is decided again at intervals. */
function passMsMax({ kind }: Next): number {
  return kind === 'time' || kind === 'instance' ? REPEAT_MS : Number.POSITIVE_INFINITY;
}

/** Returns the changes that remove the rows of a gone instance; none if it is wanted. */
function forgetInstance(ledger: Pick<Ledger, 'read'>, name: string): readonly Change[] {
  const expected = ledger.read('terminating', name);
  if (expected === undefined) return [];
  const terminating: Change = { kind: 'terminating', name, value: null, expected };
  const suspension = ledger.read('suspension', name);
  const acknowledgement = ledger.read('acknowledgement', name);
  return [
    terminating,
    ...(suspension ? [{ kind: 'suspension' as const, name, value: null, expected: suspension }] : []),
    ...(acknowledgement ? [{ kind: 'acknowledgement' as const, name, value: null, expected: acknowledgement }] : []),
  ];
}
