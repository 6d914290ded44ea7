// Defines what keeps lowdb's document in a database.
import type { ListedPage, ListedRange } from '../model/instance-event.ts';
import type { KeptRow } from './row-json.ts';
import type { StoreDocument } from './store-document.ts';

/** An adapter of lowdb that saves changes, and keeps events beside the document. */
export interface DocumentAdapter {
  /** Returns the document of the database, which is empty at first. */
  read(): Promise<StoreDocument>;
  /**
   * Saves `document.unsaved`, all of it or nothing. Resolves once it would survive a power cut. Throws if the last
   * commit that is kept is not `since`.
   */
  write(document: StoreDocument): Promise<void>;
  /** See Store.events. */
  events(range: ListedRange): Promise<ListedPage>;
  /**
   * Returns what other processes have committed after that revision, as of one moment; undefined: nothing. An
   * adapter whose database belongs to one process does not have this.
   */
  readChanges?(since: number): Promise<SharedChanges | undefined>;
  close(): Promise<void>;
}

/** What was committed to a database after a revision. */
export interface SharedChanges {
  /** The newest commit among them. */
  readonly revision: number;
  readonly lastEvent: number;
  /** These are all rows that there are: what was removed since may have left no mark. */
  readonly isWhole: boolean;
  /** The newest of each row; one without a value was removed. */
  readonly rows: readonly KeptRow[];
}
