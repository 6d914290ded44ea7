// The loop that drives every server to what is wanted of it. One pass looks at one server: read its row, take in how its
// last call ended, decide, write the row, carry the decision out. What a pass may decide is decide.ts, not here.

import type { Clock } from '../clock.ts';
import { Executor } from '../execute/executor.ts';
import type { Logger } from '../log.ts';
import { conclude } from '../machine/conclude.ts';
import { type DecisionContext, decide, type Next, type Step } from '../machine/decide.ts';
import { reasonText } from '../machine/reasons.ts';
import type { DeleteBudget } from '../machine/removals.ts';
import { removalChanges, removalsMax, serverCount } from '../machine/removals.ts';
import { type Wait, waitOf } from '../machine/wait.ts';
import type { Answer, CallResult } from '../model/call-result.ts';
import type { NodeRecord } from '../model/record.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Registry } from '../providers/provider-registry.ts';
import type { CommitGate } from './commit-gate.ts';
import { decisionContextOf } from './decision-context.ts';
import { FreshChecks } from './fresh-checks.ts';
import { KeyedQueue } from './keyed-queue.ts';
import type { Ledger } from './ledger.ts';
import { RepeatedErrors } from './repeated-errors.ts';
import { Sweep } from './sweep.ts';
import { WakeUps } from './wake-ups.ts';

/** Passes under way at once. Most of their time is waiting for the disk, which serves many together. */
const PASSES_MAX = 256;
const RETRY_PASS_MS = 1_000;
/** How long a replacement beyond the budget waits before it is looked at again; most often it is held by then. */
const REVIEW_MS = 30_000;

export interface ReconcilerOptions {
  readonly ledger: Ledger;
  readonly gate: CommitGate;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly log: Logger;
  /** Calls to providers at once. */
  readonly concurrency: number;
  readonly graceMs: number;
  readonly deleteBudget: DeleteBudget;
  /** Asks for what is held to be judged anew. */
  readonly review: () => void;
  /** In [0, 1). */
  readonly random: () => number;
  /** The merged configuration of a server, for its provider. */
  readonly recordOf: (server: string) => NodeRecord;
}

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #queue: KeyedQueue;
  readonly #executor: Executor;
  readonly #checks: FreshChecks;
  readonly #wakeUps: WakeUps;
  readonly #sweep: Sweep;
  /** Answers that no row has taken in yet. */
  readonly #ended = new Map<string, CallResult>();
  /** Instances of which a server was forgotten: the last one takes the instance with it. */
  readonly #thinned = new Set<string>();
  /** Why each server is being looked at, for the log: the operation that changed its row last. */
  readonly #operations = new Map<string, string>();
  readonly #errors: RepeatedErrors;
  /** Somebody has asked for a look at a server: something is in force. */
  #isBegun = false;
  /** Servers whose last pass failed and comes again. */
  readonly #failed = new Set<string>();

  constructor(options: ReconcilerOptions) {
    const { clock, log, registry, ledger } = options;
    this.#options = options;
    this.#errors = new RepeatedErrors(clock);
    this.#checks = new FreshChecks(clock);
    this.#queue = new KeyedQueue({ clock, concurrency: PASSES_MAX, handle: (name) => this.#handle(name) });
    this.#executor = new Executor({
      ...options,
      entryOf: (name) => registry.byName(name),
      onResult: (server, ended) => this.#onResult(server, ended),
    });
    const wake = (server: string): void => this.#queue.add(server);
    this.#wakeUps = new WakeUps({ ledger, clock, log, wake, capacity: this.#executor.capacity });
    this.#sweep = new Sweep({
      // Before something is in force no server is looked at: nobody could say what its record holds.
      ...{ clock, log, wake, servers: () => (this.#isBegun ? ledger.list('server').keys() : []) },
      idleRow: (server) => this.#idleRow(server),
    });
  }

  /** What a server waits for, after its last pass; undefined where it does not wait. `waitReason` has the words. */
  waitsOf(server: string): Wait | undefined {
    const wait = this.#wakeUps.waitOf(server);
    // The rest of its group is over by then, and others are away.
    const isOver = wait?.kind === 'slot' && wait.until !== undefined && wait.until <= this.#options.clock.now();
    return isOver ? { ...wait, until: undefined } : wait;
  }

  /** How many servers stood still although they could go on, until the sweep woke them. Each is a defect. */
  get missedWakeUps(): number {
    return this.#sweep.missed;
  }

  /** Looks at these servers: their rows have changed. `operation` goes through the log of everything that follows. */
  enqueue(names: Iterable<string>, operation: string): void {
    this.#isBegun = true;
    for (const name of names) {
      this.#operations.set(name, operation);
      this.#queue.add(name);
    }
  }

  /** Looks at every server that waits for a time: the clock was set, so that time may have come. */
  wakeTimed(): void {
    this.#queue.wakeTimed();
    this.#wakeUps.wakeTimed();
  }

  /** Starts nothing more, waits up to `ms` for calls that run, and records how they ended. */
  async stop(ms: number): Promise<void> {
    this.#sweep.stop();
    this.#wakeUps.stop();
    await this.#executor.stop(ms);
    await this.#queue.stop();
  }

  #onResult(server: string, ended: CallResult | undefined): void {
    if (ended !== undefined) this.#ended.set(server, ended);
    if (ended?.kind === 'check') this.#checks.note(server, isAnswer(ended.answer) ? 'answered' : 'failed');
    this.#options.ledger.index.setInFlight(server, false);
    this.#queue.add(server);
    this.#wakeUps.called(server);
  }

  /** Never throws: the one place where a pass that failed is caught. */
  async #handle(name: string): Promise<void> {
    try {
      await this.#options.gate.shared(() => this.#pass(name));
    } catch (error) {
      const isConflict = error instanceof ServiceError && error.code === 'conflict';
      const told = isConflict ? undefined : this.#errors.tell(error);
      if (told) this.#options.log.error({ server: name, err: error, ...told }, 'pass failed; it is tried again');
      this.#failed.add(name);
      this.#queue.addAfter(name, isConflict ? 0 : RETRY_PASS_MS);
    }
    this.#wakeUps.passed(name);
  }

  async #pass(name: string): Promise<void> {
    this.#failed.delete(name);
    this.#wakeUps.passing(name);
    const row = this.#options.ledger.server(name);
    if (row === undefined) {
      this.#ended.delete(name);
      this.#wakeUps.begin(name, null, undefined);
      await this.#forgetEmptied();
      return;
    }
    const { row: after, next } = this.#step(name, row);
    this.#prepare(name, after, next);
    try {
      if (after !== row) await this.#options.ledger.commit(this.#changes(name, row, after));
    } catch (error) {
      this.#unclaim(name);
      throw error;
    }
    this.#ended.delete(name);
    if (after !== null) this.#carryOut(name, after, next);
    if (after === row) return;
    this.#logStep(name, row, after);
    if (after !== null) return;
    this.#thinned.add(row.instance);
    // Where this fails, the next pass finds no row and tries it again.
    await this.#forgetEmptied();
  }

  #step(name: string, row: ServerRow): Step {
    const { registry, clock, random } = this.#options;
    const ended = this.#ended.get(name);
    const retry = registry.byName(ended?.provider ?? '')?.retry;
    const isConcluded = ended !== undefined && retry !== undefined;
    const concluded = isConcluded ? conclude(row, ended, { now: clock.now(), retry, random }) : row;
    return concluded === null ? { row: null, next: { kind: 'rest' } } : decide(concluded, this.#contextOf(name));
  }

  #contextOf(name: string): DecisionContext {
    const { ledger, registry, clock, graceMs, deleteBudget } = this.#options;
    return decisionContextOf(name, {
      ...{ ledger, registry, graceMs, now: clock.now() },
      removalsMax: () => removalsMax(deleteBudget, serverCount(ledger, clock.now())),
      isInFlight: (server) => this.#executor.capacity.isInFlight(server),
      hasCapacity: (provider) => this.#executor.capacity.hasCapacity(provider, name),
      lastCheckOf: (server) => this.#checks.of(server),
      lostMsLeft: (server, action) => this.#executor.lostMsLeft(server, action),
      groupViewOf: (server, row) => this.#wakeUps.groups.of(server, row),
      leaveOf: (server, row) => this.#wakeUps.leaveOf(server, row),
    });
  }

  /** What has to be noted before the first wait, so that no change of another server slips through. */
  #prepare(name: string, after: ServerRow | null, next: Next): void {
    if (next.kind === 'check' || next.kind === 'run') {
      this.#executor.capacity.claim(name, next.provider);
      this.#options.ledger.index.setInFlight(name, true);
    }
    const reviewAt = this.#options.clock.now() + REVIEW_MS;
    this.#wakeUps.begin(name, after, after === null ? undefined : waitOf(next, after, reviewAt));
  }

  #unclaim(name: string): void {
    this.#executor.capacity.unclaim(name);
    this.#options.ledger.index.setInFlight(name, this.#executor.capacity.isInFlight(name));
    this.#wakeUps.called(name);
  }

  /** Returns the row of a server that could go on now although nobody has asked for a look at it. */
  #idleRow(name: string): ServerRow | undefined {
    const row = this.#options.ledger.server(name);
    // What waits for another try of a pass, or for the budget to be judged anew, is looked at again by itself.
    const isPlanned = this.#failed.has(name) || this.waitsOf(name)?.kind === 'budget';
    if (row?.due != null && Date.parse(row.due) > this.#options.clock.now()) return undefined;
    const isDue = this.#queue.has(name) || this.#wakeUps.isDue(name);
    if (row === undefined || isPlanned || isDue || this.#ended.has(name)) return undefined;
    const { row: after, next } = decide(row, this.#contextOf(name));
    return after !== row || next.kind === 'check' || next.kind === 'run' ? row : undefined;
  }

  #carryOut(name: string, row: ServerRow, next: Next): void {
    if (next.kind === 'check') this.#executor.check(name, row, next.provider);
    else if (next.kind === 'run') this.#run(name, row);
    else if (next.kind === 'again') this.#queue.add(name);
    else if (next.kind === 'review') this.#review(name);
    else if (next.kind === 'at') this.#lookAt(name, next.time);
    else if (next.kind === 'stopped' && Number.isFinite(next.until)) this.#lookAt(name, next.until);
  }

  #lookAt(name: string, time: number): void {
    this.#queue.addAfter(name, time - this.#options.clock.now());
  }

  #run(name: string, row: ServerRow): void {
    this.#checks.forget(name);
    this.#executor.run(name, row);
  }

  #review(name: string): void {
    this.#options.review();
    this.#queue.addAfter(name, REVIEW_MS);
  }

  /** A delete that begins without approval counts against the budget; that is recorded with the intent. */
  #changes(name: string, row: ServerRow, after: ServerRow | null): Change[] {
    const change: Change = { kind: 'server', name, value: after, expected: row };
    const { ledger, clock } = this.#options;
    return [change, ...removalChanges(ledger, { server: name, row, after, now: clock.now() })];
  }

  /** The last server of an instance that no commit wants takes the instance with it, and its suspension. */
  async #forgetEmptied(): Promise<void> {
    const { ledger } = this.#options;
    for (const name of this.#thinned) if (ledger.index.hasServers(name)) this.#thinned.delete(name);
    const emptied = [...this.#thinned];
    const changes = emptied.flatMap((name): Change[] => {
      const expected = ledger.read('terminating', name);
      if (expected === undefined) return [];
      const terminating: Change = { kind: 'terminating', name, value: null, expected };
      const suspension = ledger.read('suspension', name);
      if (suspension === undefined) return [terminating];
      return [terminating, { kind: 'suspension', name, value: null, expected: suspension }];
    });
    await ledger.commit(changes);
    for (const name of emptied) this.#thinned.delete(name);
  }

  #logStep(server: string, { state: from }: ServerRow, after: ServerRow | null): void {
    if (after?.state === from) return;
    const operation = this.#operations.get(server);
    const to = after?.state ?? 'gone';
    const { instance, attempt } = after ?? {};
    const reason = reasonText(after?.reason ?? null) || undefined;
    this.#options.log.info({ operation, server, instance, from, to, reason, attempt }, 'state');
    if (after === null) this.#operations.delete(server);
  }
}

/** Whether a check told if the server is there. */
function isAnswer({ outcome }: Answer): boolean {
  return outcome === 'done' || outcome === 'absent';
}
