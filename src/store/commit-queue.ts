// Queues commits for the disk. All commits that arrive during a write go into the next write together. It decides which
// commits conflict; the owner of the queue does the writing.

import { invariant } from '../base/invariant.ts';
import type { NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import type { Tables } from './store-document.ts';
import { StoreError } from './store-error.ts';

const WAITING_MAX = 10_000;
/** One commit may have more: it may touch every row. */
const GROUP_ROWS_MAX = 10_000;

/** A commit that waits for the disk. */
export interface WaitingCommit {
  readonly changes: readonly Change[];
  readonly events: readonly NewEvent[];
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

  /** Adds a commit, and resolves once it is saved. Throws if a row appears twice in it. */
  add(changes: readonly Change[], events: readonly NewEvent[]): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new StoreError(`${WAITING_MAX} commits wait for the disk already. Nothing was saved; try again later.`);
    }
    invariant(new Set(changes.map(keyOf)).size === changes.length, 'a commit names no row twice');
    const settle = Promise.withResolvers<void>();
    this.#waiting.push({ changes, events, settle });
    return settle.promise;
  }

  /** Removes and returns the commits to write next, in the order in which they came. */
  takeGroup(): WaitingCommit[] {
    let rows = 0;
    const end = this.#waiting.findIndex(({ changes, events }, index) => {
      rows += changes.length + events.length;
      return index > 0 && rows > GROUP_ROWS_MAX;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
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

/** Returns a text that no other row has. */
function keyOf({ kind, name }: Change): string {
  return `${kind}/${name}`;
}

function conflictOf({ kind, name }: Change): ServiceError {
  return new ServiceError('conflict', `The recorded ${kind} "${name}" was changed meanwhile. Read it again and retry.`);
}
