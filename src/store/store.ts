// Defines the contract of stores, which keep recorded rows and the events of instances. test/contract/store.ts tests
// every implementation of it.
import type { EventRange, ListedPage, NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows } from '../model/rows.ts';

/** Keeps recorded rows. Every promise below also holds between processes. */
export interface Store {
  /**
   * Returns a row as of the newest known commit (at least the last one of this process), or undefined. Answers from
   * memory. The value is shared: do not change it.
   */
  read<Kind extends RowKind>(kind: Kind, name: string): Rows[Kind] | undefined;

  /** Returns a consistent view of the rows of a kind by name, unsorted. Iterate it before the next `await`. */
  list<Kind extends RowKind>(kind: Kind): ReadonlyMap<string, Rows[Kind]>;

  /**
   * Resolves with the oldest events in a range, of some instances or of all. The newest 1,000 events of each instance
   * are kept, if they are among the newest 100,000 of all. An id is at least the time of its event in milliseconds, so
   * a time is a lower bound of the ids of later events. No event appears later before one that was returned. Throws
   * StoreError if the database cannot be read.
   */
  events(range: EventRange): Promise<ListedPage>;

  /**
   * Saves all of `changes` and `events` or none, and resolves once they would survive a power cut; only then does
   * `read` show them. No row appears twice in `changes`. Throws ServiceError `conflict` if one of them is no longer as
   * `expected`: read again, decide again. Any other error means that `read` is as before, and that nothing was saved.
   * If the disk failed during the commit, the commit may be there: the next start finds it. If the connection failed,
   * this waits until the outcome is known. If this process loses the lease before, the outcome stays unknown.
   */
  commit(changes: readonly Change[], events?: readonly NewEvent[]): Promise<void>;

  /**
   * Calls `follow` in the turn in which `read` shows rows of other processes, and waits for it. It must not throw.
   * Absent if the rows belong to one process.
   */
  watchOthers?(follow: (changes: readonly Change[]) => Promise<void>): void;

  /**
   * Why the last commit could not be saved, and since when (RFC 3339) no commit was; undefined if it was saved or had a
   * conflict.
   */
  readonly failure: { readonly reason: string; readonly since: string } | undefined;

  /** Waits for running commits and closes the store. Refuses later commits. */
  close(): Promise<void>;
}
