// Drives every server to its wanted spec: a queue of names, one pass over a server at a time, and the events that
// enqueue a name. server-pass.ts implements the pass.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import type { Metrics } from '../base/metrics.ts';
import type { SecretRules } from '../machine/call-outcome.ts';
import { decide } from '../machine/decide.ts';
import { removalsMax, serverCount } from '../machine/removals.ts';
import type { Wait } from '../machine/wait.ts';
import type { CallResult } from '../model/call-result.ts';
import { PROXIED } from '../model/names.ts';
import type { NodeRecord } from '../model/record.ts';
import type { RunningAction, ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { Call } from '../providers/provider.ts';
import type { ProviderRegistry } from '../providers/provider-registry.ts';
import type { CallInFlight } from './calls/capacity.ts';
import { Executor, makeCall } from './calls/executor.ts';
import { EntryAnswers, type SlowEntry } from './checks/entry-answers.ts';
import { ServerChecks } from './checks/server-checks.ts';
import { SiteWitness } from './checks/site-witness.ts';
import type { CommitGate } from './commit-gate.ts';
import type { Ledger } from './ledger.ts';
import { type CallClaim, ClaimedPasses, claimedId } from './passes/claimed-passes.ts';
import { type ContextSources, decisionContextOf } from './passes/decision-context.ts';
import { KeyedQueue } from './passes/keyed-queue.ts';
import { knownRecords, proxyTagsFor } from './passes/responsible-provider.ts';
import { ServerPass } from './passes/server-pass.ts';
import type { ProxyOffers } from './waits/proxy-offers.ts';
import { ProxyPresence, type RegisteredProxy } from './waits/proxy-presence.ts';
import { Sweep } from './waits/sweep.ts';
import { WakeUps } from './waits/wake-ups.ts';

/** Concurrent passes. They mostly wait for the disk, which serves many at once. */
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
  readonly deleteBudget: DeleteBudget;
  /** Requests a new judgement of held deletes. */
  readonly review: () => void;
  /** Returns true once a desired state is active. Before that no server is examined: its record could not be computed. */
  readonly isActive: () => boolean;
  /** Returns whether this process leads, decided at the moment of the call. Left out: it always does. */
  readonly leads?: (() => boolean) | undefined;
  /** Counts passes and calls. Left out: nothing does. */
  readonly metrics?: Metrics | undefined;
  /** In [0, 1). */
  readonly random: () => number;
  /** Returns the merged configuration of a server, for its provider. */
  readonly recordOf: (server: string) => NodeRecord;
  /** Returns the registered proxies, the same array while they are the same. Omitted: none is registered. */
  readonly proxies?: () => readonly RegisteredProxy[] | undefined;
}

/** A call that a proxy may claim, as it would be if it began now. */
export interface OfferedCall {
  readonly call: Call;
  readonly row: ServerRow;
}

/** Is told of calls. */
export interface CallWatcher {
  /** A call of a server has ended, with an answer or without. */
  readonly ended: (server: string, isAnswered: boolean) => void;
  /** A pass over a server has ended, and it is recorded how its last call ended. */
  readonly concluded: (server: string) => void;
}

/** The claim of a prospective call. */
const ANY_CLAIM = { lease: '', client: '' };

/** Brings every server to its wanted spec. */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #queue: KeyedQueue;
  readonly #executor: Executor;
  readonly checks: ServerChecks;
  /** Which provider entries answer. */
  readonly answers: EntryAnswers;
  /** Which proxies ask for work. */
  readonly presence: ProxyPresence;
  readonly #wakeUps: WakeUps;
  readonly #pass: ServerPass;
  readonly #sites: SiteWitness;
  readonly #sources: ContextSources;
  readonly #sweep: Sweep;
  readonly #claims: ClaimedPasses;
  #watcher: CallWatcher | undefined;
  readonly #logOnceAMinute: LogOnceAMinute;
  /** Servers whose last pass failed and is retried. */
  readonly #failed = new Set<string>();

  constructor(options: ReconcilerOptions) {
    const { clock, log, registry, ledger } = options;
    this.#options = options;
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.answers = new EntryAnswers(clock);
    this.#queue = new KeyedQueue({ ...options, concurrency: PASSES_MAX, handle: (name) => this.#handle(name) });
    this.#executor = new Executor({
      ...options,
      entryOf: (name) => registry.byName(name),
      mayBegin: options.leads,
      onResult: (server, result, call) => this.#onResult(server, result, call),
    });
    const wake = (server: string): void => this.#queue.add(server);
    const { capacity } = this.#executor;
    this.#wakeUps = new WakeUps({ ledger, clock, log, wake, capacity });
    this.#claims = new ClaimedPasses({
      clock,
      grant: (server) => this.#wakeUps.grant(server, PROXIED),
      isInFlight: (server) => capacity.isInFlight(server),
    });
    this.presence = new ProxyPresence({
      ...{ clock, registered: () => options.proxies?.() },
      changed: (tags) => [...this.offers.for(tags)].forEach(wake),
    });
    const recordOf = knownRecords(ledger, options.recordOf);
    this.checks = new ServerChecks({ ...options, recordOf, wake });
    const requestCheck = (server: string): void => void this.checks.schedule.request(server);
    this.#sites = new SiteWitness({ ledger, registry, clock, capacity, requestCheck, wake });
    this.#sources = this.#contextSources();
    this.#pass = new ServerPass({
      ...{ ...options, executor: this.#executor, wakeUps: this.#wakeUps, queue: this.#queue },
      contextOf: (server) => decisionContextOf(server, this.#sources),
      ...{ checks: this.checks, sites: this.#sites, claims: this.#claims },
    });
    this.#sweep = new Sweep({
      ...{ ...options, wake, servers: () => (options.isActive() ? ledger.list('server').keys() : []) },
      idleRow: (server) => this.#idleRow(server),
    });
  }

  /** The servers that wait for a proxy. */
  get offers(): ProxyOffers {
    return this.#wakeUps.offers;
  }

  /** Returns the wait of a server after its last pass; undefined if it does not wait. `waitReason` returns its text. */
  waitsOf(server: string): Wait | undefined {
    const wait = this.#wakeUps.waitOf(server);
    // The rest of its group is over by then, and other members are away.
    const isOver = wait?.kind === 'slot' && wait.until !== undefined && wait.until <= this.#options.clock.now();
    return isOver ? { ...wait, until: undefined } : wait;
  }

  /** Returns how many servers wait, by the kind of their wait; kinds of which none does may be left out. */
  countWaits(): ReadonlyMap<Wait['kind'], number> {
    return this.#wakeUps.countWaits();
  }

  /** Number of servers that could continue and were not enqueued until the sweep found them. Each is a defect. */
  get missedWakeUps(): number {
    return this.#sweep.missed;
  }

  /**
   * Enqueues each of these servers: their rows have changed. `operation` is logged with what follows. Does nothing before a
   * desired state is active: every server is enqueued when the first one is.
   */
  enqueue(names: Iterable<string>, operation: string): void {
    if (!this.#options.isActive()) return;
    for (const name of names) {
      this.#pass.noteOperation(name, operation);
      this.#queue.add(name);
    }
  }

  /** Has a pass over a server decide once more. One that has failed is tried again after its pause, and not before. */
  wake(server: string): void {
    if (!this.#failed.has(server)) this.#queue.add(server);
  }

  /** Returns true if a server waits for a proxy, or has none. */
  isAwaitingProxy(server: string): boolean {
    const reason = this.#options.ledger.server(server)?.reason?.code;
    return this.#awaitedTags(server) !== undefined || reason === 'no_proxy' || reason === 'provider_changed';
  }

  /** Returns the tags of the proxies that are responsible for a server. */
  proxyTagsFor(server: string): readonly string[] {
    return proxyTagsFor(server, this.#options.ledger.server(server), this.#sources);
  }

  /** Returns true if a call for this server was begun here and has not ended. */
  isInFlight(server: string): boolean {
    return this.#executor.capacity.isInFlight(server);
  }

  /** Returns when an action of a server that this process does not run can no longer be running, milliseconds since 1970. */
  lostActionEnds(server: string, action: RunningAction): number {
    return decisionContextOf(server, this.#sources).lostActionEnds(action);
  }

  /**
   * Returns the call that a pass over a server would give to a proxy with these tags now. Undefined if it would give none, and
   * while a pass has to conclude its last call.
   */
  nextCallFor(server: string, own: readonly string[]): OfferedCall | undefined {
    const { ledger, registry, clock } = this.#options;
    const recorded = ledger.server(server);
    if (recorded === undefined || this.#pass.hasResult(server)) return undefined;
    const granted = { hasCapacity: () => true, claimantOf: () => ({ claim: ANY_CLAIM, tags: own }) };
    const step = decide(recorded, decisionContextOf(server, { ...this.#sources, ...granted }));
    const { row, next } = step;
    if (row === null || claimedId(server, step) === undefined) return undefined;
    const operation = next.kind === 'check' ? 'check' : (row.action?.operation ?? 'check');
    const deadline = clock.now() + (registry.proxied?.timeoutSeconds ?? 0) * 1000;
    const record = this.#sources.recordOf?.(server) ?? {};
    return { call: makeCall(server, { row, operation }, { record, deadline }), row };
  }

  /** Returns true if a claim for the next call of a server is open. */
  isClaimed(server: string): boolean {
    return this.#claims.has(server);
  }

  /** Runs a pass with a claim in its context; see {@link ClaimedPasses.run}. */
  claim(server: string, claim: CallClaim): Promise<void> {
    return this.#claims.run(server, claim);
  }

  /** Refuses the claims that are open. */
  refuseClaims(): void {
    this.#claims.stop();
  }

  /** Has the next pass conclude a call that this process did not begin. */
  conclude(server: string, result: CallResult): void {
    this.#pass.noteResult(server, this.#pass.judged(server, result));
    this.#queue.add(server);
  }

  /** Has a watcher told of calls, in place of an earlier one. */
  watchCalls(watcher: CallWatcher): void {
    this.#watcher = watcher;
  }

  /** Returns the call in flight for a server. */
  callOf(server: string): CallInFlight | undefined {
    return this.#executor.capacity.callOf(server);
  }

  /** Returns why the last try of a server that is under way again had no answer; see Executor. */
  lostTryOf(server: string): string | undefined {
    return this.#executor.lostTryOf(server);
  }

  /** Returns the provider entries whose calls take long. */
  slowEntries(): readonly SlowEntry[] {
    const { registry } = this.#options;
    const timeoutMsOf = (entry: string): number =>
      (registry.byName(entry)?.timeoutSeconds ?? Number.POSITIVE_INFINITY) * 1000;
    return this.answers.slow(this.#executor.capacity.calls(), timeoutMsOf);
  }

  /** Starts no more calls, waits up to `ms` for running ones, and records how they ended. */
  async stop(ms: number): Promise<void> {
    this.#sweep.stop();
    this.presence.stop();
    this.#claims.stop();
    this.#wakeUps.stop();
    await this.#executor.stop(ms);
    await this.#queue.stop();
  }

  #onResult(server: string, answered: CallResult | undefined, call: CallInFlight): void {
    this.answers.ended(server, call, { answer: answered?.answer, because: this.#executor.lostBecause(server) });
    const result = answered && this.#pass.judged(server, answered, call);
    if (this.checks.ended(server, result, call) && result !== undefined) this.#pass.noteResult(server, result, call);
    this.#watcher?.ended(server, result !== undefined);
    this.#options.ledger.index.setInFlight(server, false);
    this.#queue.add(server);
    this.#wakeUps.called(server);
  }

  /** Never throws: the one place that catches a failed pass. */
  async #handle(name: string): Promise<void> {
    try {
      this.#failed.delete(name);
      await this.#options.gate.shared(() => this.#pass.run(name));
      this.#options.metrics?.count('treeline_passes_total', { outcome: 'succeeded' });
    } catch (error) {
      this.#options.metrics?.count('treeline_passes_total', { outcome: 'failed' });
      const isConflict = error instanceof ServiceError && error.code === 'conflict';
      // The lease tells of its loss.
      const isKnown = isConflict || this.#options.leads?.() === false;
      const repeats = isKnown ? undefined : this.#logOnceAMinute(error);
      if (repeats) this.#options.log.error({ server: name, err: error, ...repeats }, 'pass failed; it is tried again');
      this.#failed.add(name);
      this.#queue.addAfter(name, isConflict ? 0 : RETRY_PASS_MS);
    }
    this.#claims.passed(name);
    if (!this.#pass.hasResult(name)) this.#watcher?.concluded(name);
    const tags = this.#awaitedTags(name);
    if (tags !== undefined) this.offers.wake(tags);
    this.#wakeUps.passed(name);
  }

  /** Returns the tags of a server that waits for a proxy; undefined if it does not. */
  #awaitedTags(server: string): readonly string[] | undefined {
    const wait = this.#wakeUps.waitOf(server);
    return wait?.kind === 'capacity' ? wait.tags : undefined;
  }

  #contextSources(): ContextSources {
    const { ledger, registry, clock, graceMs, deleteBudget, recordOf, isSecret, isReference } = this.#options;
    return {
      ...(isSecret && { isSecret }),
      ...(isReference && { isReference }),
      ...{ ledger, registry, graceMs, proxies: this.presence, recordOf: knownRecords(ledger, recordOf) },
      claimantOf: (server) => this.#claims.claimantOf(server),
      get now() {
        return clock.now();
      },
      removalsMax: () => removalsMax(deleteBudget, serverCount(ledger, clock.now())),
      isInFlight: (server) => this.#executor.capacity.isInFlight(server),
      hasCapacity: (server, provider, isRoutine) => this.#wakeUps.hasCapacity(server, provider, isRoutine),
      lastCheckOf: (server, own) => this.checks.lastOf(server, own),
      isCheckDue: (server) => this.checks.schedule.isDue(server),
      lostMsLeft: (server, action) => this.#executor.lostMsLeft(server, action),
      lostBecause: (server) => this.#executor.lostBecause(server),
      witnessAwaitedUntil: (server, row) => this.#sites.awaitedUntil(server, row),
      groupViewOf: (server, row) => this.#wakeUps.slots.groupViewOf(server, row),
      exemptionOf: (server, row) => this.#wakeUps.exemptionOf(server, row),
    };
  }

  /** Returns the row of a server that could continue although it is not in the queue. */
  #idleRow(name: string): ServerRow | undefined {
    const row = this.#options.ledger.server(name);
    // A server whose pass is retried, or whose budget is to be judged again, is enqueued without the sweep.
    const isPlanned = this.#failed.has(name) || this.waitsOf(name)?.kind === 'budget';
    if (row?.due != null && Date.parse(row.due) > this.#options.clock.now()) return undefined;
    const isDue = this.#queue.has(name) || this.#wakeUps.isDue(name);
    if (row === undefined || isPlanned || isDue || this.#pass.hasResult(name)) return undefined;
    const { row: after, next } = decide(row, decisionContextOf(name, this.#sources));
    return after !== row || next.kind === 'check' || next.kind === 'run' ? row : undefined;
  }
}
