// Keeps what a standby shows: reads what the leader has written, and shows it together with the desired state that it
// belongs to, at one moment. Where that state cannot be derived yet, as while Git cannot be reached, the moment before
// stays shown. Writes nothing. docs/decisions/0043-the-leader.md.

import type { Breathe } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type LogOnceAMinute, logOnceAMinute } from '../base/log-once-a-minute.ts';
import { momentOf, reasonOf } from '../base/wording.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import { compareNames } from '../model/names.ts';
import type { Change, HeadRow, RowKind, Rows, ServerRow } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import { desiredChanges, type Ledger, type PrepareMoment } from '../reconcile/ledger.ts';
import { Queue } from '../reconcile/queue.ts';
import type { Source } from '../repository/source.ts';
import type { CurrentState } from './current-state.ts';
import { refusalOfLost } from './follow-commit.ts';
import { HEAD } from './object-rows.ts';
import { isOfRows, type RecordedRows, restoreDesired } from './restore.ts';

/** Between two looks at the rows of the leader. */
const POLL_MS = 500;
/** How long the same derivation is not tried again after it failed: twice as long each time, from a poll on. */
const RETRY_MS_MAX = 30_000;
/** A poll that takes longer is reported: a database that hangs refuses nothing for a while. */
const UNANSWERED_MS = 5_000;
const ROWS = 'rows';
const UNREAD = 'what the leader has written is being read, and the database or the repository has not answered yet';
const OTHER_FOLLOWED = 'the leader has followed another commit while this one was read';
/** For so long replicas that have lost the followed commit leave the lead to one that has it and may be starting. */
const LEADERLESS_MS = 60_000;

/** The rows and the desired state to keep, and what announces newer ones. */
export interface StandbyFollowerOptions {
  readonly ledger: Ledger;
  /** Has the ledger show what other processes have written; see LowdbStore.refresh. */
  readonly refresh: () => Promise<void>;
  readonly current: CurrentState;
  /** With a local copy of this replica. */
  readonly source: Source;
  readonly clock: Clock;
  readonly log: Logger;
  readonly breathe: Breathe;
}

/** Why the newest moment is not shown, and since when. */
interface Lag {
  readonly reason: string;
  readonly since: string;
  readonly sinceStart?: true;
}

/** A derivation that failed. */
interface FailedTry {
  /** What was tried. */
  readonly key: string;
  readonly error: unknown;
  readonly count: number;
  /** By the monotonic clock. */
  readonly until: number;
}

/** The followed commit is not here and the branch does not bring it, or it does not make what is recorded. */
class LostHead extends Error {}

/**
 * Shows everything that earlier leaders have written. Throws where that cannot be done: then this process must not
 * lead. Where the followed commit is lost, and no replica could lead for a minute, rows are shown and nothing is
 * active, as at a start: an operator has to accept the new history, which only a leader can record.
 */
export async function showAllWritten(options: StandbyFollowerOptions, leaderlessMs: number): Promise<void> {
  const { current, refresh, log } = options;
  const follower = new StandbyFollower(options);
  follower.start();
  try {
    await follower.catchUp();
  } catch (error) {
    if (!(error instanceof LostHead) || leaderlessMs < LEADERLESS_MS) throw error;
    log.warn({ err: error }, 'no replica has the followed commit: this one leads without it, and nothing is active');
    current.forget();
    await refresh();
  } finally {
    await follower.stop();
  }
}

/** Shows what the leader shows. */
export class StandbyFollower {
  readonly #options: StandbyFollowerOptions;
  readonly #queue: Queue;
  readonly #logOnceAMinute: LogOnceAMinute;
  readonly #stopping = new AbortController();
  #first: Promise<void> | undefined;
  #failed: FailedTry | undefined;
  /** Why nothing is shown yet, or why the newest moment is not, for a person; empty where it is. */
  notReadyReason = 'the rows that the leader has written are not read yet';
  /** Of the last poll; undefined where it has shown everything. */
  #lag: Lag | undefined;
  /** When the poll under way has begun, by both clocks. */
  #poll: { readonly at: string; readonly ms: number } | undefined;

  constructor(options: StandbyFollowerOptions) {
    this.#options = options;
    const { clock } = options;
    this.#logOnceAMinute = logOnceAMinute(clock);
    this.#queue = new Queue({ clock, concurrency: 1, handle: () => this.#handle() });
  }

  /** Why the newest moment is not shown, and since when; undefined where it is. */
  get failure(): Lag | undefined {
    const poll = this.#poll;
    if (this.#lag !== undefined || poll === undefined) return this.#lag;
    const tookMs = this.#options.clock.monotonic() - poll.ms;
    return tookMs > UNANSWERED_MS ? { reason: UNREAD, since: poll.at } : undefined;
  }

  /** Begins. What this process has shown as a leader stays shown until something newer is. */
  start(): void {
    const { ledger, current, clock } = this.#options;
    // The newest commit was judged when this process has led; the leader reports it now.
    if (current.get() !== undefined) current.catchUp();
    this.#lag = { reason: this.notReadyReason, since: momentOf(clock.now()), sinceStart: true };
    ledger.prepareMoments((...arriving) => this.#prepare(...arriving));
    this.#queue.add(ROWS);
  }

  /**
   * Resolves once everything is shown that was written before the call. Throws where it cannot be: then the moment
   * before is shown, and this process should not lead.
   */
  async catchUp(): Promise<void> {
    await this.#options.refresh();
    await this.#showFirst();
  }

  /**
   * Ends what is under way. What is shown stays; rows that belong to another desired state are shown no more until
   * another standby follower starts.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the standby follower is stopped'));
    await this.#queue.stop();
  }

  /** Never throws: the one place where a look that failed is caught. */
  async #handle(): Promise<void> {
    const { clock, log } = this.#options;
    const poll = { at: momentOf(clock.now()), ms: clock.monotonic() };
    this.#poll = poll;
    try {
      await this.catchUp();
      this.#lag = undefined;
      this.notReadyReason = this.#options.current.get() === undefined ? 'the leader follows no commit yet' : '';
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      const reason = reasonOf(error);
      this.notReadyReason = reason;
      const { since = poll.at, sinceStart } = this.#lag ?? {};
      this.#lag = { reason, since, ...(sinceStart && { sinceStart }) };
      const repeats = this.#logOnceAMinute(error);
      if (repeats)
        log.error({ err: error, ...repeats }, 'what the leader has written cannot be shown; everything stays as it is');
    } finally {
      this.#poll = undefined;
    }
    this.#queue.addAfter(ROWS, POLL_MS);
  }

  /** Where nothing is shown, rows alone may change; else they change with the desired state, or not at all. */
  async #prepare(...[changes]: Parameters<PrepareMoment>): ReturnType<PrepareMoment> {
    const { ledger, current } = this.#options;
    const shown = current.get();
    const { length } = desiredChanges(changes);
    if (shown === undefined || length === 0) return () => undefined;
    if (this.#stopping.signal.aborted) {
      throw new ServiceError('conflict', 'Another process has followed a commit meanwhile. Read again and retry.');
    }
    const rows = new ArrivingRows(ledger, changes);
    const head = rows.read('head', HEAD);
    const desired = await this.#try(`${head?.commit} ${length}`, () => this.#derive(rows, shown));
    return () => this.#show(desired);
  }

  /** Shows the desired state of the rows where none is shown yet. */
  #showFirst(): Promise<void> {
    this.#first ??= this.#findFirst().finally(() => {
      this.#first = undefined;
    });
    return this.#first;
  }

  async #findFirst(): Promise<void> {
    const { ledger, current } = this.#options;
    const { version } = ledger;
    const head = ledger.read('head', HEAD);
    if (current.get() !== undefined || head === undefined) return;
    const desired = await this.#try(`${head.commit} ${version}`, () => this.#derive(ledger, undefined));
    // Rows come all the time; those that came meanwhile may belong to another one.
    if (ledger.version !== version && !isOfRows(desired, ledger)) throw new Error(OTHER_FOLLOWED);
    this.#show(desired);
  }

  #show(desired: DesiredState): void {
    const { current, clock, log } = this.#options;
    if (current.get()?.commit !== desired.commit) log.info({ commit: desired.commit }, 'commit shown');
    current.set(desired, clock.now());
  }

  /**
   * The same that failed is not tried again at once: neither is Git asked, nor a large commit derived, every second.
   */
  async #try(key: string, work: () => Promise<DesiredState>): Promise<DesiredState> {
    const { clock } = this.#options;
    const before = this.#failed?.key === key ? this.#failed : undefined;
    if (before !== undefined && clock.monotonic() < before.until) throw before.error;
    try {
      const desired = await work();
      this.#failed = undefined;
      return desired;
    } catch (error) {
      const count = before === undefined ? 0 : before.count + 1;
      const pauseMs = Math.min(RETRY_MS_MAX, POLL_MS * 2 ** count);
      this.#failed = { key, error, count, until: clock.monotonic() + pauseMs };
      throw error;
    }
  }

  async #derive(rows: RecordedRows, earlier: DesiredState | undefined): Promise<DesiredState> {
    const { source, breathe } = this.#options;
    const head = rows.read('head', HEAD);
    if (head === undefined) throw new Error('the store has no followed commit any more');
    const fetched = (await source.has(head.commit)) ? undefined : await this.#fetch(earlier);
    const isLost = fetched !== undefined && !(await source.has(head.commit));
    const restored = isLost ? undefined : await restoreDesired({ source, rows, breathe, earlier });
    if (typeof restored === 'object') return restored;
    if (rows.read('head', HEAD) !== head) throw new Error(OTHER_FOLLOWED);
    if (earlier !== undefined) throw new LostHead(reasonOfLost(head, restored));
    const newest = fetched ?? (await this.#fetch(undefined));
    await this.#refuse(newest, head, restored);
    throw new LostHead(reasonOfLost(head, restored));
  }

  async #fetch(shown: DesiredState | undefined): Promise<string> {
    const { oid } = await this.#options.source.fetch(shown?.commit ?? null, this.#stopping.signal);
    return oid;
  }

  /** Nothing is active, as at a start of a leader: the newest commit is held, and reads answer from the rows. */
  async #refuse(newest: string, head: HeadRow, difference: string | undefined): Promise<void> {
    const { source, current, clock } = this.#options;
    const refused = await refusalOfLost(source, newest, { ...head, difference });
    current.refuse({ ...refused, since: momentOf(clock.now()) });
  }
}

function reasonOfLost({ commit }: HeadRow, difference: string | undefined): string {
  return difference === undefined
    ? `the commit ${commit}, which the leader follows, is not in the branch that this replica reads, or not yet`
    : `the followed commit ${commit} does not make what is recorded: ${difference}`;
}

/** The rows as they are once changes are shown. Only the tables that are listed are copied. */
class ArrivingRows implements RecordedRows {
  readonly #ledger: Ledger;
  readonly #changes = new Map<RowKind, Map<string, Change>>();
  readonly #tables = new Map<RowKind, ReadonlyMap<string, unknown>>();

  constructor(ledger: Ledger, changes: readonly Change[]) {
    this.#ledger = ledger;
    for (const change of changes) {
      const known = this.#changes.get(change.kind) ?? new Map<string, Change>();
      this.#changes.set(change.kind, known.set(change.name, change));
    }
  }

  readonly index = {
    serversOf: (instance: string): readonly string[] => {
      const arriving = [...(this.#changes.get('server')?.keys() ?? [])];
      const names = new Set([...this.#ledger.index.serversOf(instance), ...arriving]);
      return [...names].filter((name) => this.server(name)?.instance === instance).sort(compareNames);
    },
  };

  server(name: string): ServerRow | undefined {
    return this.read('server', name);
  }

  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined {
    const change = this.#changes.get(kind)?.get(name);
    if (change === undefined) return this.#ledger.read(kind, name);
    return (change.value ?? undefined) as Rows[Kind] | undefined;
  }

  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]> {
    const changes = this.#changes.get(kind);
    if (changes === undefined) return this.#ledger.list(kind);
    const known = this.#tables.get(kind) ?? tableAfter(this.#ledger.list(kind), changes.values());
    this.#tables.set(kind, known);
    return known as ReadonlyMap<string, Rows[Kind]>;
  }
}

function tableAfter(table: ReadonlyMap<string, unknown>, changes: Iterable<Change>): ReadonlyMap<string, unknown> {
  const after = new Map(table);
  for (const { name, value } of changes) {
    if (value === null) after.delete(name);
    else after.set(name, value);
  }
  return after;
}
