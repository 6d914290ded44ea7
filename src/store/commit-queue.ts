// Queues commits for the disk. All commits that arrive during a write go into the next write together. It decides which
// commits conflict; the owner of the queue does the writing.

import { invariant } from '../base/invariant.ts';
import type { RunInSlices } from '../base/slices.ts';
import { type Steps, visitAll } from '../base/steps.ts';
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
/** The changes of a larger commit are encoded while they are written: all of their JSON at once would take more than the rows. */
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

/** A commit that is being checked, and whose changes are being encoded. */
interface AddedCommit extends Omit<WaitingCommit, 'rows'> {
  /** Undefined: it was refused. */
  readonly checked: Promise<Pick<WaitingCommit, 'rows'> | undefined>;
}

/** Which commits of a group are written. */
export interface Decision {
  readonly accepted: readonly WaitingCommit[];
  /** The commits that conflict with an earlier one, each with its error. */
  readonly refused: ReadonlyMap<WaitingCommit, ServiceError>;
}

/** The commits that wait for the disk. */
export class CommitQueue {
  readonly #inSlices: RunInSlices;
  #waiting: AddedCommit[] = [];

  constructor(inSlices: RunInSlices) {
    this.#inSlices = inSlices;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Takes a commit in. The values of a small one are written as they are now, whatever becomes of them later. */
  add(changes: readonly Change[], events: readonly NewEvent[]): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new StoreError(`${WAITING_MAX} commits wait for the disk already. Nothing was saved; try again later.`);
    }
    const settle = Promise.withResolvers<void>();
    const checked = this.#inSlices(check(changes)).catch((error: unknown) => {
      settle.reject(error);
      return undefined;
    });
    this.#waiting.push({ changes, checked, events, settle });
    return settle.promise;
  }

  /** Removes and returns the commits to write next, in the order in which they came; none where all were refused. */
  async takeGroup(): Promise<WaitingCommit[]> {
    const group: WaitingCommit[] = [];
    let length = 0;
    let count = 0;
    // Also those that are added meanwhile.
    for (const { changes, checked, events, settle } of this.#waiting) {
      const encoded = await checked;
      if (encoded !== undefined) {
        length += lengthOf(encoded.rows, events);
        if (group.length > 0 && length > GROUP_LENGTH_MAX) break;
        group.push({ changes, rows: encoded.rows, events, settle });
      }
      count += 1;
    }
    this.#waiting.splice(0, count);
    return group;
  }
}

/** Returns the changes of a commit as they are kept, if they are few. Throws where one row is named twice. */
function* check(changes: readonly Change[]): Steps<Pick<WaitingCommit, 'rows'>> {
  const rows: (readonly KeptRow[])[] = [];
  const keys = new Set<string>();
  const isEncoded = changes.length <= ENCODED_AHEAD_MAX;
  yield* visitAll(changes, (change) => {
    if (isEncoded) rows.push(keptRows(change, change.expected));
    keys.add(keyOf(change));
  });
  invariant(keys.size === changes.length, 'a commit names no row twice');
  return { rows: isEncoded ? rows : undefined };
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
export function* decideGroup(tables: Tables, group: readonly WaitingCommit[]): Steps<Decision> {
  const written = new Map<string, Rows[RowKind] | undefined>();
  const accepted: WaitingCommit[] = [];
  const refused = new Map<WaitingCommit, ServiceError>();
  for (const commit of group) {
    const stale: Change[] = [];
    yield* visitAll(commit.changes, (change) => {
      if (currentOf(change) !== change.expected) stale.push(change);
    });
    if (stale[0] !== undefined) {
      refused.set(commit, conflictOf(stale[0]));
      continue;
    }
    accepted.push(commit);
    // Nothing comes after the last one that would have to see it.
    if (commit === group.at(-1)) continue;
    yield* visitAll(commit.changes, (change) => written.set(keyOf(change), change.value ?? undefined));
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
