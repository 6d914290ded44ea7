// Limits how many members of a group may be away during a rollout, how fast one follows another, and how many updates
// of a commit may fail. docs/concepts.md, updates. row-index.ts counts failed and away members.
import type { RolloutRow, ServerRow } from '../model/rows.ts';
import { isConverged } from './existence.ts';

/** Returns the name of the group that a row belongs to; a single server is a group of one. */
export function groupOf(row: ServerRow): string {
  return `${row.instance}/${row.key}`;
}

/**
 * Returns true if an operator requested that the server does not wait for others, and no commit has changed it since.
 */
export function ignoresOrder({ ignoresOrder, generation }: ServerRow): boolean {
  return ignoresOrder === generation;
}

/** A group as seen by one member. New members and members to be deleted count only for the size. */
export interface GroupView {
  /** All members, this one included. */
  readonly size: number;
  /** Another member gave up. */
  readonly hasFailed: boolean;
  /** The number of other members that do not serve, or may not. */
  readonly away: number;
  /** When another member last came back: milliseconds since 1970; 0 if none did. */
  readonly lastBack: number;
}

/**
 * Returns true if one more member may go away at `now`, the time from which it may, or false if another member has to
 * change first. Milliseconds since 1970.
 */
export function hasSlot(row: ServerRow, group: GroupView, now: number): boolean | number {
  // A member that gave up stops the others regardless of `max_unavailable`: the change itself is probably bad.
  if (group.hasFailed) return false;
  // A member that is already away takes no further slot. If two such members waited for each other, neither would come
  // back.
  if (row.dirty || ignoresOrder(row)) return true;
  if (group.away >= awayMax(row.policy.maxUnavailable, group.size)) return false;
  const { pauseSeconds } = row.policy;
  // A time in the future is from before the clock was set back.
  if (pauseSeconds === 0 || group.lastBack > now) return true;
  const from = group.lastBack + pauseSeconds * 1000;
  return from <= now || from;
}

/** Returns the number as written, or that percentage of `size`, rounded down; at least 1. */
export function awayMax(maxUnavailable: string, size: number): number {
  const number = Number.parseInt(maxUnavailable, 10);
  const count = maxUnavailable.endsWith('%') ? Math.floor((number * size) / 100) : number;
  return Math.max(1, count);
}

/** Returns the commit whose update a server waits for or carries out; undefined if it needs no update. */
export function openUpdateOf(row: ServerRow): string | undefined {
  const isOpen = row.wanted !== null && row.applied !== null && !isConverged(row);
  return isOpen ? row.commit : undefined;
}

const FAILURES_LEAST = 3;
const FAILURES_SHARE = 0.05;

/** Returns how many updates of a commit may fail before the rest is held: 3, or 5 percent of them. */
export function failuresMax({ updates }: RolloutRow): number {
  return Math.max(FAILURES_LEAST, Math.ceil(updates * FAILURES_SHARE));
}
