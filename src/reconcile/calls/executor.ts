// Executes the decisions of passes: calls the provider, enforces the deadline, and reports the answer. Decides and
// writes nothing: if a call ends without an answer, the row still has the action. The only file that imports p-queue.
import PQueue from 'p-queue';
import type { Clock, ClockTimes } from '../../base/clock.ts';
import { invariant } from '../../base/invariant.ts';
import type { Logger } from '../../base/log.ts';
import type { Metrics } from '../../base/metrics.ts';
import { reasonOf, toRfc3339 } from '../../base/wording.ts';
import { plainRecord } from '../../hiera/record.ts';
import type { Answer, CallResult } from '../../model/call-result.ts';
import type { NodeRecord } from '../../model/record.ts';
import type { RunningAction, ServerRow } from '../../model/rows.ts';
import type { Operation } from '../../model/state.ts';
import type { Call } from '../../providers/provider.ts';
import type { ProviderEntry } from '../../providers/provider-registry.ts';
import { type CallInFlight, Capacity } from './capacity.ts';

/** The fields of a provider entry that calls need. */
export type CallableEntry = Pick<ProviderEntry, 'name' | 'timeoutSeconds' | 'concurrency' | 'provider'>;

/** The limits of calls, and the functions that they use. */
export interface ExecutorOptions {
  readonly concurrency: number;
  /** How long to wait for a call that ignores its deadline. */
  readonly graceMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly entryOf: (provider: string) => CallableEntry | undefined;
  readonly recordOf: (server: string) => NodeRecord;
  /** Returns whether a call may begin now: false once another process may lead. Omitted: always true. */
  readonly mayBegin?: (() => boolean) | undefined;
  /** Counts calls. Omitted: calls are not counted. */
  readonly metrics?: Metrics | undefined;
  /** Called once at the end of every call; undefined: it ended without an answer. The server is then not in flight. */
  readonly onResult: (server: string, ended: CallResult | undefined, call: CallInFlight) => void;
}

/** The last action of a server, until it is answered. */
interface OpenAction {
  readonly id: string;
  /** When it must have ended, by the monotonic clock. */
  readonly ends: number;
}

/** Runs checks and actions, at most one for a server. */
export class Executor {
  readonly capacity: Capacity;
  readonly #options: ExecutorOptions;
  readonly #calls: PQueue;
  readonly #actions = new Map<string, OpenAction>();
  /** By server: why its last action had no answer. Removed once an action is answered. */
  readonly #lost = new Map<string, string>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { concurrency, clock, entryOf } = options;
    this.#calls = new PQueue({ concurrency });
    this.capacity = new Capacity({
      concurrency,
      clock,
      concurrencyOf: (name) => entryOf(name)?.concurrency ?? 0,
      isPulled: (name) => entryOf(name)?.provider.isPulled === true,
    });
  }

  /**
   * Returns for how many more milliseconds an action without an answer may run; 0: it must have ended. Measured by the
   * monotonic clock from the first call of this function, or from the start of the action if this process started it.
   */
  lostMsLeft(server: string, action: RunningAction): number {
    const { clock } = this.#options;
    const known = this.#actions.get(server);
    if (known?.id === action.id) return Math.max(0, known.ends - clock.monotonic());
    const leftMs = this.#recordedMsLeft(action);
    this.#actions.set(server, { id: action.id, ends: clock.monotonic() + leftMs });
    return Math.max(0, leftMs);
  }

  /**
   * The wall clock may have been set since the row was written, so the result is at most the whole time of the action.
   */
  #recordedMsLeft({ started, deadline }: RunningAction): number {
    const { clock, graceMs } = this.#options;
    const wholeMs = Date.parse(deadline) - Date.parse(started);
    return Math.min(Date.parse(deadline) - clock.now(), wholeMs) + graceMs;
  }

  /** Returns why the last action of a server had no answer; undefined if it had one, or if another process ran it. */
  lostBecause(server: string): string | undefined {
    return this.#lost.get(server);
  }

  /** Asks the provider whether a claimed server exists. */
  check(server: string, row: ServerRow, provider: string): void {
    this.#start(server, { row, provider, kind: 'check', operation: 'check' });
  }

  /** Runs the action in a claimed server's row, which must be durable. */
  run(server: string, row: ServerRow): void {
    invariant(row.action !== null, `${server} has no action to carry out`);
    const { operation, provider } = row.action;
    this.#actions.delete(server);
    this.#start(server, { row, provider, kind: 'action', operation });
  }

  /** Starts no more calls, waits up to `ms` for running ones, then ends them without an answer. */
  async stop(ms: number): Promise<void> {
    this.capacity.close();
    const actions = this.capacity.inFlight;
    const seconds = Math.ceil(ms / 1000);
    if (actions > 0)
      this.#options.log.info({ actions, seconds }, 'waiting for running actions; a second signal stops at once');
    const timeUp = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(ms, timeUp.resolve);
    await Promise.race([this.#calls.onIdle(), timeUp.promise]);
    cancel();
    for (const { end } of this.capacity.calls().values()) end.abort(new Error('the controller is stopping'));
  }

  #start(server: string, job: Job): void {
    const call = this.capacity.callOf(server);
    invariant(call !== undefined, `a call for ${server} was not claimed`);
    const run = async (): Promise<void> => {
      const begin = this.#options.clock.monotonic();
      const late = this.#isLate(job, call)
        ? answerRetryable('it did not begin, because its deadline had passed')
        : undefined;
      const answer = late ?? (await this.#call(server, job, call));
      this.#measure(job, answer, begin);
      if (job.kind === 'action' && answer?.outcome === 'lost') this.#lost.set(server, answer.message);
      else if (job.kind === 'action' && answer !== undefined) {
        this.#actions.delete(server);
        this.#lost.delete(server);
      }
      this.capacity.end(server);
      const { kind, provider } = job;
      this.#options.onResult(server, answer === undefined ? undefined : { kind, provider, answer }, call);
    };
    const isPulled = this.#options.entryOf(job.provider)?.provider.isPulled === true;
    // A pulled call runs elsewhere and needs no slot here.
    if (isPulled) void run();
    else void this.#calls.add(run);
  }

  #measure({ provider: entry, operation }: Job, answer: Answer | undefined, begin: number): void {
    const { metrics, clock } = this.#options;
    metrics?.count('treeline_provider_calls_total', { entry, operation, outcome: answer?.outcome ?? 'none' });
    const seconds = (clock.monotonic() - begin) / 1000;
    metrics?.observe('treeline_provider_call_duration_seconds', { entry, operation }, seconds);
  }

  async #call(server: string, job: Job, { claimed, end }: CallInFlight): Promise<Answer | undefined> {
    const entry = this.#options.entryOf(job.provider);
    if (entry === undefined) return undefined;
    const { clock, log, graceMs } = this.#options;
    // A check after a lost action has its own deadline, because the action's may have passed.
    const action = job.kind === 'action' ? job.row.action : null;
    const leftMs = action === null ? entry.timeoutSeconds * 1000 : this.#msLeft(claimed, action, entry);
    const ends = clock.monotonic() + leftMs + graceMs;
    if (action !== null) this.#actions.set(server, { id: action.id, ends });
    const overdue = Promise.withResolvers<never>();
    const endOverdue = (): void => {
      // If something may still run, the server stays in flight, so that no second call runs.
      if (entry.provider.lostActionEnds !== 'with its call')
        overdue.reject(new Error('it did not end at its deadline'));
      // The call gets another grace period before the log line: after a sleep, both timers fire together.
      else timers.push(clock.after(graceMs, () => this.#logOverdue(server, job)));
    };
    const timers = [
      // A report of a proxy counts until the end of the grace period.
      clock.after(leftMs + (entry.provider.isPulled ? graceMs : 0), () =>
        end.abort(new Error('it did not end within its time limit (timeoutSeconds)')),
      ),
      clock.after(leftMs + graceMs, endOverdue),
    ];
    try {
      const facts = { record: recordFor(server, job, this.#options), deadline: clock.now() + leftMs };
      const call = makeCall(server, job, facts);
      // The process may have been suspended since it wrote the row, for longer than its lease.
      if (this.#options.mayBegin?.() === false) throw new Error('it did not begin: another replica may lead');
      return await Promise.race([entry.provider.perform(call, end.signal), overdue.promise]);
    } catch (error) {
      logUnanswered(server, job, { log, error });
      if (job.kind === 'check') return noAnswer(error);
      this.#lost.set(server, reasonOf(error));
      return undefined;
    } finally {
      for (const cancel of timers) cancel();
    }
  }

  /**
   * Returns true if the action's deadline has passed, because the process was suspended since it wrote the row. The
   * call must not begin: the action counts as ended. Nothing has run, so nothing is lost.
   */
  #isLate({ kind, row: { action }, provider }: Job, { claimed }: CallInFlight): boolean {
    const entry = this.#options.entryOf(provider);
    return kind === 'action' && action !== null && entry !== undefined && this.#msLeft(claimed, action, entry) === 0;
  }

  /** Logs nothing if another replica may lead: then no server waits for this call. */
  #logOverdue(server: string, { operation, provider }: Job): void {
    const { log, mayBegin } = this.#options;
    if (mayBegin?.() === false) return;
    log.error({ server, operation, provider }, 'call does not end; its server waits for that');
  }

  /**
   * Measured by the monotonic clock from the claim, before the intent was written, so that setting the wall clock
   * neither ends nor prolongs a call.
   */
  #msLeft(claimed: ClockTimes, { deadline }: RunningAction, { timeoutSeconds }: CallableEntry): number {
    const wholeMs = Math.min(Date.parse(deadline) - claimed.wall, timeoutSeconds * 1000);
    return Math.max(0, wholeMs - (this.#options.clock.monotonic() - claimed.monotonic));
  }
}

interface Job {
  readonly row: ServerRow;
  readonly provider: string;
  readonly kind: CallResult['kind'];
  readonly operation: Operation;
}

/** Returns the record, or the last recorded one: a missing record does not stop a call. */
function recordFor(
  server: string,
  { row, operation }: Job,
  { recordOf, log }: Pick<ExecutorOptions, 'recordOf' | 'log'>,
): NodeRecord {
  try {
    return recordOf(server);
  } catch (error) {
    log.warn({ server, operation, err: error }, 'the record is not known; the call goes without it');
    return plainRecord(row.lastRecord ?? {});
  }
}

/** Returns the call for a server. `row` has the action, or no action for a check. */
export function makeCall(
  server: string,
  job: Pick<Job, 'row' | 'operation'>,
  facts: { readonly record: NodeRecord; readonly deadline: number },
): Call {
  const { row, operation } = job;
  const spec = row.action?.spec ?? row.wanted ?? row.applied;
  return {
    operation,
    action: callIdOf(server, row),
    resource: server,
    kind: spec?.kind ?? '',
    properties: spec?.properties ?? {},
    record: facts.record,
    applied: row.applied,
    outputs: row.applied === null ? null : row.outputs,
    deadline: toRfc3339(facts.deadline),
  };
}

/** Returns the id of the call for a server. `row` has the action, or no action for a check. */
export function callIdOf(server: string, { action, incarnation }: ServerRow): string {
  return action === null ? `${server}.${incarnation}.check` : actionIdOf(server, action);
}

/** Returns the id of the call that carries out an action. */
export function actionIdOf(server: string, { id }: Pick<RunningAction, 'id'>): string {
  return `${server}.${id}`;
}

/** A check changes nothing, so it is retried if it ends without an answer. */
function noAnswer(error: unknown): Answer {
  return answerRetryable(`no answer: ${reasonOf(error)}`);
}

function answerRetryable(message: string): Answer {
  return { outcome: 'retryable', message, outputs: {}, observed: {} };
}

function logUnanswered(
  server: string,
  { operation, provider }: Job,
  { log, error }: { readonly log: Logger; readonly error: unknown },
): void {
  log.warn({ server, operation, provider, err: error }, 'call ended without an answer');
}
