// Drives every server to its wanted spec: queues names, runs one pass at a time over a server, and enqueues servers on
// events. server-pass.ts implements the pass.
import type { AuditLog } from '../base/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import type { Metrics } from '../base/metrics.ts';
import type { SecretRules } from '../machine/call-outcome.ts';
import { decide } from '../machine/decide.ts';
import { type Next, waitIn } from '../machine/decision.ts';
import { isIdle } from '../machine/drift.ts';
import { removalsMax, serverCount } from '../machine/removals.ts';
import { groupOf } from '../machine/rollout.ts';
import type { Wait } from '../machine/wait.ts';
import type { AnswerOutcome, CallResult } from '../model/call-result.ts';
import type { NodeRecord } from '../model/record.ts';
import type { RunningAction, ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { Call } from '../providers/provider.ts';
import type { ProviderRegistry } from '../providers/provider-registry.ts';
import type { CallInFlight, Capacity } from './calls/capacity.ts';
import { Executor, makeCall } from './calls/executor.ts';
import { Absences } from './checks/absences.ts';
import { CallHistory } from './checks/call-history.ts';
import { EntryAnswers } from './checks/entry-answers.ts';
import { ServerChecks } from './checks/server-checks.ts';
import type { CommitGate } from './commit-gate.ts';
import type { Ledger } from './ledger.ts';
import { ClaimedPasses, claimedId } from './passes/claimed-passes.ts';
import { type ContextSources, decisionContextOf } from './passes/decision-context.ts';
import { knownRecords, proxyTagsFor } from './passes/responsible-provider.ts';
import { ServerPass } from './passes/server-pass.ts';
import { Queue } from './queue.ts';
import { ProxyOffers } from './waits/proxy-offers.ts';
import { ProxyPresence, type RegisteredProxy } from './waits/proxy-presence.ts';
import { Resync } from './waits/resync.ts';
import { WakeUps } from './waits/wake-ups.ts';

/** Concurrent passes. They mostly wait for the disk, which serves many requests concurrently. */
const PASSES_MAX = 256;
const RETRY_PASS_MS = 1_000;

interface ReconcilerOptions extends SecretRules {
  readonly ledger: Ledger;
  readonly gate: CommitGate;
  readonly registry: ProviderRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  /** Concurrent calls to providers. */
  readonly concurrency: number;
  readonly graceMs: number;
  /** The longest wait of a server for its next try. */
  readonly waitMsMax: number;
  readonly deleteBudget: DeleteBudget;
  /** Requests a new judgement of held deletes. */
  readonly review: () => void;
  /** Returns true once a desired state is active. Before that no pass runs, because no record can be computed. */
  readonly isActive: () => boolean;
  /** Returns whether this process leads now. Omitted: it always leads. */
  readonly leads?: (() => boolean) | undefined;
  /** Counts passes and calls. Omitted: they are not counted. */
  readonly metrics?: Metrics | undefined;
  /** In [0, 1). */
  readonly random: () => number;
  /** Records each delete that begins. Omitted: there is no audit log. */
  readonly audit?: Pick<AuditLog, 'record'> | undefined;
  /** Returns the merged configuration of a server, for its provider. */
  readonly recordOf: (server: string) => NodeRecord;
  /** Returns the registered proxies, and the same array while they are unchanged. Omitted: no proxy is registered. */
  readonly proxies?: () => readonly RegisteredProxy[] | undefined;
}

/** A call that a proxy may claim, as if it began now. */
export interface OfferedCall {
  readonly call: Call;
  readonly row: ServerRow;
}

/** Observes calls. */
export interface CallWatcher {
  /** Called when a call of a server has ended, with or without an answer. */
  readonly ended: (server: string, isAnswered: boolean) => void;
  /** Called after a pass over a server, once the end of its last call is recorded. */
  readonly concluded: (server: string) => void;
}

const FAILURES: ReadonlySet<AnswerOutcome> = new Set(['retryable', 'failed', 'lost'] as const);

/** The claim of a prospective call. */
const ANY_CLAIM = { lease: '', client: '' };

/** Brings every server to its wanted spec. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #queue: Queue;
  /** The calls in flight. */
  readonly capacity: Capacity;
  /** The claims of proxies for the next call of a server. */
  readonly claims: ClaimedPasses;
  /** The servers that wait for a proxy. */
  readonly offers = new ProxyOffers();
  readonly #executor: Executor;
  readonly checks: ServerChecks;
  /** Tracks which provider entries answer. */
  readonly answers: EntryAnswers;
  /** The calls of the last hour. */
  readonly history: CallHistory;
  /** Tracks which proxies ask for work. */
  readonly presence: ProxyPresence;
  readonly #wakeUps: WakeUps;
  readonly #pass: ServerPass;
  readonly #absences: Absences;
  readonly #sources: ContextSources;
  readonly #resync: Resync;
  /** When {@link stop} ends the remaining calls, by the monotonic clock; set by its first call. */
  #stopAt: number | undefined;
  #watcher: CallWatcher | undefined;
  readonly #logOnceAMinute: LogOnceAMinute;
  /** Servers whose last pass failed and will be retried. */
  readonly #failed = new Set<string>();

  constructor(options: ReconcilerOptions) {
    const { clock, registry, ledger } = options;
    this.#options = options;
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.answers = new EntryAnswers(clock);
    this.history = new CallHistory(clock);
    this.#queue = new Queue({ ...options, concurrency: PASSES_MAX, handle: (name) => this.#handle(name) });
    this.#executor = new Executor({
      ...options,
      entryOf: (name) => registry.byName(name),
      mayBegin: options.leads,
      onResult: (server, result, call) => this.#onResult(server, result, call),
    });
    const wake = (server: string): void => this.#add(server);
    this.capacity = this.#executor.capacity;
    this.#wakeUps = new WakeUps({
      ledger,
      wake: (server) => this.wake(server),
      hasSlot: (server) => this.#hasSlot(server),
    });
    this.claims = new ClaimedPasses({ clock, wake, isInFlight: (server) => this.capacity.isInFlight(server) });
    const heard = (tags: readonly string[]): void => [...this.offers.for(tags)].forEach(wake);
    this.presence = new ProxyPresence({ clock, registered: () => options.proxies?.(), heard });
    const recordOf = knownRecords(ledger, options.recordOf);
    this.checks = new ServerChecks({ ...options, recordOf, wake });
    this.#absences = new Absences({ ledger, clock, wake });
    this.#sources = this.#contextSources();
    this.#pass = new ServerPass({
      ...options,
      executor: this.#executor,
      offers: this.offers,
      queue: this.#queue,
      freed: () => this.#wakeForCapacity(),
      silentMs: (tags) => this.presence.silentMs(tags),
      contextOf: (server) => decisionContextOf(server, this.#sources),
      checks: this.checks,
      absences: this.#absences,
      claims: this.claims,
    });
    this.#resync = new Resync({ ...options, queue: this.#queue });
  }

  /** Returns the current wait of a server; undefined if it does not wait. `waitReason` returns its text. */
  waitsOf(server: string): Wait | undefined {
    const next = this.#nextOf(server)?.next;
    return next && waitIn(next);
  }

  /** Returns how many servers wait now, by kind of wait, without kinds that no server has. */
  countWaits(): ReadonlyMap<Wait['kind'], number> {
    const counts = new Map<Wait['kind'], number>();
    for (const [server, row] of this.#options.ledger.list('server')) {
      const wait = isIdle(row) ? undefined : this.waitsOf(server);
      if (wait !== undefined) counts.set(wait.kind, (counts.get(wait.kind) ?? 0) + 1);
    }
    return counts;
  }

  /** The number of servers that could continue and were enqueued only by the resync. Each is a defect. */
  get missedWakeUps(): number {
    return this.#resync.missed;
  }

  /**
   * Enqueues servers whose rows have changed. The log lines of their passes contain `operation`. Does nothing before a
   * desired state is active: its activation enqueues every server.
   */
  enqueue(names: Iterable<string>, operation: string): void {
    if (!this.#options.isActive()) return;
    for (const name of names) {
      this.#pass.noteOperation(name, operation);
      this.#add(name);
    }
  }

  /**
   * Enqueues a server, so that a pass decides again. If its last pass failed, only the retry after a pause does that.
   */
  wake(server: string): void {
    if (this.#options.isActive() && !this.#failed.has(server)) this.#add(server);
  }

  /** Returns true if a server waits for a proxy, or no proxy is responsible for it. */
  isAwaitingProxy(server: string): boolean {
    const reason = this.#options.ledger.server(server)?.reason?.code;
    return this.offers.tagsOf(server) !== undefined || reason === 'no_proxy' || reason === 'provider_changed';
  }

  /** Returns the tags of the proxies that are responsible for a server. */
  proxyTagsFor(server: string): readonly string[] {
    return proxyTagsFor(server, this.#options.ledger.server(server), this.#sources);
  }

  /** Returns when an action that this process does not run must have ended: milliseconds since 1970. */
  lostActionEnds(server: string, action: RunningAction): number {
    return decisionContextOf(server, this.#sources).lostActionEnds(action);
  }

  /**
   * Returns the call that a pass over a server would now give to a proxy with these tags. Undefined if there is none,
   * or if a pass has to conclude the last call first.
   */
  nextCallFor(server: string, own: readonly string[]): OfferedCall | undefined {
    const { ledger, registry, clock } = this.#options;
    const recorded = ledger.server(server);
    if (recorded === undefined || this.#pass.hasResult(server)) return undefined;
    const granted = {
      capacity: { isInFlight: (name: string) => this.capacity.isInFlight(name), mayClaim: () => true },
      claims: { claimantOf: () => ({ claim: ANY_CLAIM, tags: own }) },
    };
    const step = decide(recorded, decisionContextOf(server, { ...this.#sources, ...granted }));
    const { row, next } = step;
    if (row === null || claimedId(server, step) === undefined) return undefined;
    const operation = next.kind === 'check' ? 'check' : (row.action?.operation ?? 'check');
    const deadline = clock.now() + (registry.proxied?.timeoutSeconds ?? 0) * 1000;
    const record = this.#sources.recordOf?.(server) ?? {};
    return { call: makeCall(server, { row, operation }, { record, deadline }), row };
  }

  /** Records the result of a call that another process began; the next pass concludes it. */
  conclude(server: string, result: CallResult): void {
    this.#pass.noteResult(server, this.#pass.judged(server, result));
    this.#add(server);
  }

  /** Sets the watcher of calls. Replaces an earlier one. */
  watchCalls(watcher: CallWatcher): void {
    this.#watcher = watcher;
  }

  /** Returns why the last action of a server had no answer; see Executor. */
  lostBecause(server: string): string | undefined {
    return this.#executor.lostBecause(server);
  }

  /** Starts no more calls, waits up to `ms` for running ones, and records how they ended. */
  async stop(ms: number): Promise<void> {
    this.#resync.stop();
    this.claims.stop();
    const now = this.#options.clock.monotonic();
    this.#stopAt ??= now + ms;
    await this.#executor.stop(Math.max(0, Math.min(ms, this.#stopAt - now)));
    await this.#queue.stop();
  }

  #onResult(server: string, answered: CallResult | undefined, call: CallInFlight): void {
    this.answers.ended(server, call, { answer: answered?.answer, because: this.#executor.lostBecause(server) });
    this.#noteCall(answered, call);
    const result = answered && this.#pass.judged(server, answered, call);
    if (this.checks.ended(server, result, call) && result !== undefined) this.#pass.noteResult(server, result, call);
    this.#watcher?.ended(server, result !== undefined);
    this.#options.ledger.index.setInFlight(server, false);
    this.#add(server);
    this.#wakeGroupOf(server);
  }

  /** Does not count a routine check that was ended in favour of an action. */
  #noteCall(answered: CallResult | undefined, { provider, claimed, isRoutine }: CallInFlight): void {
    if (answered === undefined && isRoutine) return;
    const isFailed = answered === undefined || FAILURES.has(answered.answer.outcome);
    const seconds = (this.#options.clock.monotonic() - claimed.monotonic) / 1000;
    this.history.note(provider, { isFailed, seconds });
  }

  /** Enqueues the members of the server's group that may continue because its call has ended or does not begin. */
  #wakeGroupOf(server: string): void {
    const row = this.#options.ledger.server(server);
    if (row !== undefined) this.#wakeUps.wakeGroup(groupOf(row));
  }

  #add(server: string): void {
    this.#resync.enqueued(server);
    this.#queue.add(server);
  }

  /** Never throws: this is where errors of a pass are caught. */
  async #handle(name: string): Promise<void> {
    const isResync = this.#resync.begins(name);
    try {
      this.#failed.delete(name);
      const hasActed = await this.#options.gate.shared(() => this.#pass.run(name));
      if (isResync && hasActed) this.#resync.found(name);
      this.#options.metrics?.count('treeline_passes_total', { outcome: 'succeeded' });
    } catch (error) {
      this.#options.metrics?.count('treeline_passes_total', { outcome: 'failed' });
      const isConflict = error instanceof ServiceError && error.code === 'conflict';
      // The lease logs its own loss.
      const isKnown = isConflict || this.#options.leads?.() === false;
      const repeats = isKnown ? undefined : this.#logOnceAMinute(error);
      if (repeats) this.#options.log.error({ server: name, err: error, ...repeats }, 'pass failed; it is tried again');
      this.#failed.add(name);
      this.capacity.leave(name);
      this.capacity.release(name);
      this.#wakeForCapacity();
      this.#wakeGroupOf(name);
      this.#queue.addAfter(name, isConflict ? 0 : RETRY_PASS_MS);
    }
    this.claims.passed(name);
    if (!this.#pass.hasResult(name)) this.#watcher?.concluded(name);
    const tags = this.offers.tagsOf(name);
    if (tags !== undefined) this.offers.wake(tags);
  }

  /** Enqueues the servers that capacity is free for. */
  #wakeForCapacity(): void {
    for (const server of this.capacity.next()) this.wake(server);
  }

  #nextOf(
    server: string,
  ): { readonly row: ServerRow; readonly after: ServerRow | null; readonly next: Next } | undefined {
    const row = this.#options.ledger.server(server);
    if (row === undefined) return undefined;
    const { row: after, next } = decide(row, decisionContextOf(server, this.#sources));
    return { row, after, next };
  }

  /**
   * Returns whether a waiting member of a group has a slot, now or after the pause of its group; undefined if it waits
   * for something else.
   */
  #hasSlot(server: string): boolean | undefined {
    const isInLine = this.capacity.isWaiting(server) || this.offers.tagsOf(server) !== undefined;
    const step = isInLine ? undefined : this.#nextOf(server);
    if (step === undefined) return undefined;
    const { row, after, next } = step;
    if (next.kind === 'slot') return next.until !== undefined;
    return after !== row || ['again', 'check', 'run', 'capacity'].includes(next.kind) || undefined;
  }

  #contextSources(): ContextSources {
    const { ledger, registry, clock, waitMsMax, deleteBudget, recordOf, isSecret, isReference } = this.#options;
    return {
      ...(isSecret && { isSecret }),
      ...(isReference && { isReference }),
      ledger,
      registry,
      waitMsMax,
      proxies: this.presence,
      recordOf: knownRecords(ledger, recordOf),
      capacity: this.capacity,
      executor: this.#executor,
      checks: this.checks,
      claims: this.claims,
      absences: this.#absences,
      get now() {
        return clock.now();
      },
      removalsMax: () => removalsMax(deleteBudget, serverCount(ledger, clock.now())),
    };
  }
}
