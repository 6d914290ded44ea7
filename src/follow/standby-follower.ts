// Keeps a standby current: reads the rows that the leader has written, and derives their desired state. If that cannot
// be derived yet, such as while Git cannot be reached, the earlier one stays shown with the newer rows. Writes nothing.
// docs/decisions/0043-the-leader.md.

import type { Breathe } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import { reasonOf, toRfc3339 } from '../base/wording.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import type { HeadRow } from '../model/rows.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { Queue } from '../reconcile/queue.ts';
import type { Source } from '../repository/source.ts';
import type { CurrentState } from './current-state.ts';
import { refusalOfLost } from './follow-commit.ts';
import { HEAD } from './object-rows.ts';
import { restoreDesired } from './restore.ts';

/** The pause between two reads of the leader's rows. */
const POLL_MS = 500;
/**
 * The longest pause before a failed derivation is tried again. It begins with POLL_MS and doubles with each failure.
 */
const RETRY_MS_MAX = 30_000;
/** A longer silence is reported, because a database that hangs returns no error. */
const UNANSWERED_MS = 5_000;
const ROWS = 'rows';
const UNREAD = 'what the leader has written is being read, and the database or the repository has not answered yet';

/** The parts that a standby follower uses. */
export interface StandbyFollowerOptions {
  readonly ledger: Ledger;
  /** Updates the ledger with the rows that other processes have written; see LowdbStore.refresh. */
  readonly refresh: () => Promise<void>;
  readonly current: CurrentState;
  /** Uses the local copy of this replica. */
  readonly source: Source;
  readonly clock: Clock;
  readonly log: Logger;
  readonly breathe: Breathe;
}

/** Why the newest rows or their desired state are not shown, and since when. */
interface Lag {
  readonly reason: string;
  readonly since: string;
}

/** A derivation that failed. */
interface FailedTry {
  /** The row of the commit. */
  readonly head: HeadRow;
  readonly error: unknown;
  readonly count: number;
  /** By the monotonic clock. */
  readonly until: number;
}

/** The followed commit is in neither the local copy nor the branch, or it does not match the rows. */
class LostHead extends Error {}

/**
 * Shows everything that earlier leaders have written. Throws if that is impossible: then this process must not lead. If
 * the followed commit is lost, rows are shown but nothing is active. An operator has to accept the new history, which
 * only a leader can record.
 */
export async function showAllWritten(options: StandbyFollowerOptions): Promise<void> {
  const { current, log } = options;
  const follower = new StandbyFollower(options);
  follower.start();
  try {
    await follower.catchUp();
  } catch (error) {
    if (!(error instanceof LostHead)) throw error;
    log.warn({ err: error }, 'this replica leads without the followed commit, and nothing is active');
    current.forget();
  } finally {
    await follower.stop();
  }
}

/** Shows the state of the leader. */
export class StandbyFollower {
  readonly #options: StandbyFollowerOptions;
  readonly #queue: Queue;
  readonly #logOnceAMinute: LogOnceAMinute;
  readonly #stopping = new AbortController();
  #last: Promise<void> = Promise.resolve();
  /** The next read, which has not begun. */
  #next: Promise<void> | undefined;
  #failed: FailedTry | undefined;
  /** The lag of the last poll; undefined if it has shown everything. */
  #lag: Lag | undefined;
  /** When everything was last shown, by both clocks; at first, when this object was created. */
  #shown: { readonly at: string; readonly ms: number };

  constructor(options: StandbyFollowerOptions) {
    this.#options = options;
    const { clock } = options;
    this.#shown = { at: toRfc3339(clock.now()), ms: clock.monotonic() };
    this.#lag = { reason: 'the rows that the leader has written are not read yet', since: this.#shown.at };
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.#queue = new Queue({ clock, concurrency: 1, handle: () => this.#handle() });
  }

  /** Why the newest state is not shown, and since when; undefined if it is shown. */
  get failure(): Lag | undefined {
    const { at: since, ms } = this.#shown;
    const isSilent = this.#options.clock.monotonic() - ms > UNANSWERED_MS;
    return this.#lag ?? (isSilent ? { reason: UNREAD, since } : undefined);
  }

  /** Why nothing or an old state is shown, for an operator; empty if the newest is shown. */
  get notReadyReason(): string {
    const isNothing = this.#options.current.get() === undefined;
    return this.#lag?.reason ?? (isNothing ? 'the leader follows no commit yet' : '');
  }

  /** Starts polling. The state that this process has shown as a leader stays shown until there is a newer one. */
  start(): void {
    const { current } = this.#options;
    // The refused commit was judged when this process led. Now the leader reports it.
    if (current.get() !== undefined) current.catchUp();
    this.#queue.add(ROWS);
  }

  /**
   * Resolves once everything that was written before the call is shown. Throws if that is impossible: then this process
   * must not lead.
   */
  catchUp(): Promise<void> {
    // One read at a time, so that rows do not change while a desired state is derived from them.
    this.#next ??= this.#last.then(() => this.#readRows());
    this.#last = this.#next.catch(() => undefined);
    return this.#next;
  }

  /** Ends the running read. The shown state stays. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the standby follower is stopped'));
    await this.#queue.stop();
    await this.#last;
  }

  /** Never throws: this is where errors of a read are caught. */
  async #handle(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await this.catchUp();
      this.#lag = undefined;
      this.#shown = { at: toRfc3339(clock.now()), ms: clock.monotonic() };
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#lag = { since: this.#shown.at, ...this.#lag, reason: reasonOf(error) };
      const repeats = this.#logOnceAMinute(error);
      if (repeats) log.error({ err: error, ...repeats }, 'what the leader has written cannot be shown yet');
    }
    this.#queue.addAfter(ROWS, POLL_MS);
  }

  async #readRows(): Promise<void> {
    this.#next = undefined;
    const { refresh, ledger, current } = this.#options;
    await refresh();
    const head = ledger.read('head', HEAD);
    if (head === undefined || (current.get() !== undefined && !ledger.isDesiredOld)) return;
    this.#show(await this.#try(head));
  }

  #show(desired: DesiredState): void {
    const { ledger, current, clock, log } = this.#options;
    if (current.get()?.commit !== desired.commit) log.info({ commit: desired.commit }, 'commit shown');
    current.set(desired, clock.now());
    ledger.noteShown();
  }

  /**
   * Returns the derived state. A failed derivation is not tried again before a pause, so that Git is not asked, or a
   * large commit derived, at every poll.
   */
  async #try(head: HeadRow): Promise<DesiredState> {
    const { clock } = this.#options;
    const before = this.#failed?.head === head ? this.#failed : undefined;
    if (before !== undefined && clock.monotonic() < before.until) throw before.error;
    try {
      const desired = await this.#derive(head);
      this.#failed = undefined;
      return desired;
    } catch (error) {
      const count = before === undefined ? 0 : before.count + 1;
      const pauseMs = Math.min(RETRY_MS_MAX, POLL_MS * 2 ** count);
      this.#failed = { head, error, count, until: clock.monotonic() + pauseMs };
      throw error;
    }
  }

  async #derive(head: HeadRow): Promise<DesiredState> {
    const { source, ledger: rows, current, breathe } = this.#options;
    const earlier = current.get();
    const newest = (await source.has(head.commit)) ? undefined : await this.#fetch(earlier);
    const isLost = newest !== undefined && !(await source.has(head.commit));
    const restored = isLost ? undefined : await restoreDesired({ source, rows, breathe, earlier });
    if (typeof restored === 'object') return restored;
    if (earlier === undefined) await this.#refuse(newest ?? (await this.#fetch(undefined)), head, restored);
    throw new LostHead(reasonOfLost(head, restored));
  }

  async #fetch(shown: DesiredState | undefined): Promise<string> {
    const { oid } = await this.#options.source.fetch(shown?.commit ?? null, this.#stopping.signal);
    return oid;
  }

  /** Holds the newest commit if nothing is active, as a leader would at its start. Reads answer from the rows. */
  async #refuse(newest: string, head: HeadRow, difference: string | undefined): Promise<void> {
    const { source, current, clock } = this.#options;
    const refused = await refusalOfLost(source, newest, { ...head, difference });
    current.refuse({ ...refused, since: toRfc3339(clock.now()) });
  }
}

function reasonOfLost({ commit }: HeadRow, difference: string | undefined): string {
  return difference === undefined
    ? `the commit ${commit}, which the leader follows, is not in the branch that this replica reads, or not yet`
    : `the followed commit ${commit} does not make what is recorded: ${difference}`;
}
