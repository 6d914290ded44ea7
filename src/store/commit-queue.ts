// Queues commits for the disk. All commits that arrive during a write go into the next write together. It decides which
// commits conflict; the owner of the queue does the writing.
import type { NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import { encodeRow, type Tables } from './store-document.ts';
import { StoreError } from './store-error.ts';

const WAITING_MAX = 10_000;
/** Characters of JSON. One commit may be larger than a group should be: it may touch every row. */
const GROUP_LENGTH_MAX = 16 * 1024 * 1024;
const COMMIT_LENGTH_MAX = 1536 * 1024 * 1024;

/** About how many characters of JSON an event has. */
const EVENT_LENGTH = 300;

/** A commit, with the words in which it will be written. */
export interface WaitingCommit {
  readonly changes: readonly Change[];
  readonly rows: readonly string[];
  readonly events: readonly NewEvent[];
  readonly length: number;
  readonly settle: PromiseWithResolvers<void>;
}

/** Which commits of a group are written. */
export interface Decision {
  readonly accepted: readonly WaitingCommit[];
  /** The commits that conflict with an earlier one, each with its error. */
  readonly refused: ReadonlyMap<WaitingCommit, ServiceError>;
}

/** The commits that wait for the disk. */
export class CommitQueue {
  #waiting: WaitingCommit[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Takes a commit in. The values are written as they are now, whatever becomes of them later. */
  add(changes: readonly Change[], events: readonly NewEvent[]): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new StoreError(`${WAITING_MAX} commits wait for the disk already. Nothing was saved; try again later.`);
    }
    const rows = changes.map(encodeRow);
    const length = rows.reduce((sum, row) => sum + row.length, 0) + events.length * EVENT_LENGTH;
    if (length > COMMIT_LENGTH_MAX) {
      throw new StoreError(`A commit of ${length} characters is too large; the limit is ${COMMIT_LENGTH_MAX}.`);
    }
    const settle = Promise.withResolvers<void>();
    this.#waiting.push({ changes, rows, events, length, settle });
    return settle.promise;
  }

  /** Removes and returns the commits to write next, in the order in which they came. */
  takeGroup(): WaitingCommit[] {
    let length = 0;
    let count = 0;
    for (const commit of this.#waiting) {
      length += commit.length;
      if (count > 0 && length > GROUP_LENGTH_MAX) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }
}

/** Returns which commits of a group find every row as they expect it, each seeing those before it as written. */
export function decideGroup(tables: Tables, group: readonly WaitingCommit[]): Decision {
  const written = new Map<string, Rows[RowKind] | undefined>();
  const accepted: WaitingCommit[] = [];
  const refused = new Map<WaitingCommit, ServiceError>();
  for (const commit of group) {
    const stale = commit.changes.find((change) => currentOf(change) !== change.expected);
    if (stale !== undefined) {
      refused.set(commit, conflictOf(stale));
      continue;
    }
    accepted.push(commit);
    for (const change of commit.changes) written.set(keyOf(change), change.value ?? undefined);
  }
  return { accepted, refused };

  function currentOf(change: Change): Rows[RowKind] | undefined {
    const key = keyOf(change);
    return written.has(key) ? written.get(key) : tables[change.kind].get(change.name);
  }
}

/** Returns what tells one row from all others. */
export function keyOf({ kind, name }: Change): string {
  return `${kind}/${name}`;
}

function conflictOf({ kind, name }: Change): ServiceError {
  return new ServiceError('conflict', `The recorded ${kind} "${name}" was changed meanwhile. Read it again and retry.`);
}
