// Counts the failed and away members of each group incrementally, so that a question about one member does not walk
// over all of them. machine/rollout.ts applies the counts.

import { isToBeConfirmed } from '../machine/drift.ts';
import type { GroupView } from '../machine/rollout.ts';
import type { ServerRow } from '../model/rows.ts';

/** The contribution of one member to the counts of its group. */
interface Share {
  readonly group: string;
  readonly row: ServerRow;
  readonly kind: 'new or unwanted' | 'failed' | 'away' | 'queued' | 'done' | 'there';
}

interface Group {
  size: number;
  readonly failed: Set<string>;
  readonly away: Set<string>;
  /** Members that are there, and that wait for an update. */
  readonly queued: Set<string>;
  /** When each done member came back: milliseconds since 1970. */
  readonly back: Map<string, number>;
}

const NO_SERVERS: ReadonlySet<string> = new Set();

/** The failed and away members of every group. */
export class GroupCounts {
  readonly #groups = new Map<string, Group>();
  readonly #shares = new Map<string, Share>();
  /** Servers with a claimed call, started or not. */
  readonly #inFlight = new Set<string>();

  /** Updates a member to its current row; undefined if there is none. */
  follow(name: string, row: ServerRow | undefined, group: string): void {
    const before = this.#shares.get(name);
    if (before !== undefined) this.#leave(name, before);
    if (row === undefined) {
      this.#shares.delete(name);
      return;
    }
    const share = { group, row, kind: classifyRow(row, this.#inFlight.has(name)) };
    this.#shares.set(name, share);
    this.#join(name, share);
  }

  /** Notes whether a call for a server is claimed. */
  setInFlight(name: string, isInFlight: boolean): void {
    if (isInFlight) this.#inFlight.add(name);
    else this.#inFlight.delete(name);
    const share = this.#shares.get(name);
    if (share !== undefined) this.follow(name, share.row, share.group);
  }

  /** Notes that no call is claimed any more. */
  forgetCalls(): void {
    for (const name of [...this.#inFlight]) this.setInFlight(name, false);
  }

  /** Returns a group as the member `name` sees it: the member itself counts for the size only. */
  besides(name: string, groupName: string): GroupView {
    const group = this.#groups.get(groupName);
    if (group === undefined) return { size: 1, hasFailed: false, away: 0, lastBack: 0 };
    const own = this.#shares.get(name);
    const isMember = own?.group === groupName;
    return {
      size: group.size + (isMember ? 0 : 1),
      hasFailed: group.failed.size > (group.failed.has(name) ? 1 : 0),
      away: group.away.size - (group.away.has(name) ? 1 : 0),
      get lastBack() {
        return group.back.entries().reduce((last, [other, time]) => (other === name ? last : Math.max(last, time)), 0);
      },
    };
  }

  /** Returns the members that occupy the slots of a group. */
  awayOf(group: string): ReadonlySet<string> {
    return this.#groups.get(group)?.away ?? NO_SERVERS;
  }

  /** Returns the members that are there and wait for an update, those that wait longest first. */
  queuedOf(group: string): ReadonlySet<string> {
    return this.#groups.get(group)?.queued ?? NO_SERVERS;
  }

  #join(name: string, { group: key, kind, row }: Share): void {
    const group = this.#groups.get(key) ?? newGroup();
    this.#groups.set(key, group);
    group.size += 1;
    if (kind === 'failed') group.failed.add(name);
    else if (kind === 'away') group.away.add(name);
    else if (kind === 'done') group.back.set(name, Date.parse(row.since));
    else if (kind === 'queued') group.queued.add(name);
  }

  #leave(name: string, { group: key, kind }: Share): void {
    const group = this.#groups.get(key);
    if (group === undefined) return;
    group.size -= 1;
    if (group.size === 0) this.#groups.delete(key);
    else if (kind === 'failed') group.failed.delete(name);
    else if (kind === 'away') group.away.delete(name);
    else if (kind === 'queued') group.queued.delete(name);
    else if (kind === 'done') group.back.delete(name);
  }
}

function newGroup(): Group {
  return { size: 0, failed: new Set(), away: new Set(), queued: new Set(), back: new Map() };
}

function classifyRow(row: ServerRow, isInFlight: boolean): Share['kind'] {
  if (row.wanted === null || (row.applied === null && !row.replacing)) return 'new or unwanted';
  if (row.state === 'failed') return 'failed';
  // A member does not serve, or may not, from the start of its change until the change has succeeded, or until it is
  // created again.
  if (isInFlight || row.dirty || row.applied === null || isToBeConfirmed(row)) return 'away';
  if (row.state === 'pending') return 'queued';
  return row.state === 'done' ? 'done' : 'there';
}
