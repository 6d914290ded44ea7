// Queues commits for the disk. All commits that arrive during a write go into the next write together. It decides which
// commits conflict; the owner of the queue does the writing.

import { invariant } from '../base/invariant.ts';
import type { NewEvent } from '../model/instance-event.ts';
import type { Change, RowKind, Rows } from '../model/rows.ts';
import { ServiceError } from '../model/service-error.ts';
import { type KeptRow, keptRows } from './row-json.ts';
import type { Tables } from './store-document.ts';
import { StoreError } from './store-error.ts';

const WAITING_MAX = 10_000;
/** Characters of JSON. One commit may be larger than a group should be: it may touch every row. */
const GROUP_LENGTH_MAX = 16 * 1024 * 1024;
const COMMIT_LENGTH_MAX = 1536 * 1024 * 1024;
/**
 * The changes of a larger commit are encoded while they are written: all of their JSON at once would take more than the
 * rows.
 */
const ENCODED_AHEAD_MAX = 1_000;

/** About how many characters of JSON an event has. */
const EVENT_LENGTH = 300;

/** A commit, with the rows that it will be. */
export interface WaitingCommit {
  readonly changes: readonly Change[];
  /** Undefined: they are so many that each is encoded when it is written. */
  readonly rows: readonly (readonly KeptRow[])[] | undefined;
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

  /** Takes a commit in. The values of a small one are written as they are now, whatever becomes of them later. */
  add(changes: readonly Change[], events: readonly NewEvent[]): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new StoreError(`${WAITING_MAX} commits wait for the disk already. Nothing was saved; try again later.`);
    }
    const rows = encode(changes);
    const settle = Promise.withResolvers<void>();
    this.#waiting.push({ changes, rows, events, settle });
    return settle.promise;
  }

  /** Removes and returns the commits to write next, in the order in which they came. */
  takeGroup(): WaitingCommit[] {
    let length = 0;
    let count = 0;
    for (const { rows, events } of this.#waiting) {
      length += lengthOf(rows, events);
      if (count > 0 && length > GROUP_LENGTH_MAX) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}

/** Returns the changes of a commit as they are kept, if they are few. Throws if one row is named twice. */
function encode(changes: readonly Change[]): WaitingCommit['rows'] {
  const keys = new Set(changes.map(keyOf));
  invariant(keys.size === changes.length, 'a commit names no row twice');
  return changes.length > ENCODED_AHEAD_MAX ? undefined : changes.map((change) => keptRows(change, change.expected));
}

/** A commit whose changes are not encoded yet is written alone. */
function lengthOf(rows: WaitingCommit['rows'], events: readonly NewEvent[]): number {
  if (rows === undefined) return GROUP_LENGTH_MAX;
  return rows.flat().reduce((sum, row) => sum + lengthOfRow(row), events.length * EVENT_LENGTH);
}

function lengthOfRow([, , json]: KeptRow): number {
  return json?.length ?? 0;
}

/** Yields the changes of a commit as they are kept. Throws where they are too long. */
export function* changesToKeep({ changes, rows }: WaitingCommit): Generator<readonly KeptRow[]> {
  let length = 0;
  for (const [index, change] of changes.entries()) {
    const kept = rows?.[index] ?? keptRows(change, change.expected);
    for (const row of kept) length += lengthOfRow(row);
    if (length > COMMIT_LENGTH_MAX) {
      throw new StoreError(`A commit of more than ${COMMIT_LENGTH_MAX} characters is too large.`);
    }
    yield kept;
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
function keyOf({ kind, name }: Change): string {
  return `${kind}/${name}`;
}

function conflictOf({ kind, name }: Change): ServiceError {
  return new ServiceError('conflict', `The recorded ${kind} "${name}" was changed meanwhile. Read it again and retry.`);
}
