// How many members of a group may be away at once while they change, and how fast one follows another.
// docs/concepts.md, updates.
import type { ServerRow } from '../model/recorded.ts';

export interface Member {
  readonly row: ServerRow;
  /** A call for it is about to be made, or under way. */
  readonly isLive: boolean;
}

/**
 * Returns true where one more member may go away, or the time (milliseconds since 1970) from which on it may, or false
 * where another member has to change first. `others` are the rows of the group but the one that asks.
 */
export function hasTurn(row: ServerRow, others: Iterable<Member>, now: number): boolean | number {
  let size = 1;
  let away = 0;
  let lastBack = 0;
  for (const member of others) {
    size += 1;
    if (isNewOrUnwanted(member.row)) continue;
    // A member that gave up stops the others, however many may be away: the change itself is likely to be bad.
    if (member.row.state === 'failed') return false;
    if (isAway(member)) away += 1;
    else if (member.row.state === 'done') lastBack = Math.max(lastBack, Date.parse(member.row.since));
  }
  // Who is away already makes the group no smaller by going on; if two waited for each other, none ever came back.
  if (row.touched) return true;
  if (away >= awayMax(row.policy.maxUnavailable, size)) return false;
  const from = lastBack + row.policy.pauseSeconds * 1000;
  return from <= now || from;
}

function isNewOrUnwanted({ applied, wanted, replacing }: ServerRow): boolean {
  return wanted === null || (applied === null && !replacing);
}

/** A member does not serve, or may not, from the start of its change until that has succeeded, or until it is built anew. */
function isAway({ row, isLive }: Member): boolean {
  return isLive || row.touched || row.applied === null;
}

/** Returns a number as written, or that percent of `size`, rounded down; at least 1. */
export function awayMax(maxUnavailable: string, size: number): number {
  const number = Number.parseInt(maxUnavailable, 10);
  const count = maxUnavailable.endsWith('%') ? Math.floor((number * size) / 100) : number;
  return Math.max(1, count);
}
