// Applies a request to the row of one server: retry, adopt. Pure; src/service/create-operator.ts writes the rows.

import type { ServerRow } from '../model/rows.ts';
import { requeue } from './advance.ts';
import { isBlockedFor } from './reasons.ts';
import { isStuck } from './stuck.ts';

/**
 * Returns the row for an immediate retry, or undefined if the server waits for no try. In the state `unknown` the next
 * try is a check.
 */
export function retriedRow(row: ServerRow, now: string): ServerRow | undefined {
  const waits = row.state === 'failed' || row.state === 'retrying' || (row.state === 'unknown' && row.due !== null);
  return waits ? requeue(row, { now, attempt: 0 }) : undefined;
}

/**
 * Returns the row of a server that is to be adopted: one that is blocked because it exists already, or one whose
 * outcome only a removed provider entry could tell; the entry that matches now is asked. Undefined for any other.
 */
export function adoptedRow(row: ServerRow, now: string): ServerRow | undefined {
  // A missing proxy is missing for any other entry as well: its reason stays.
  const isAskable = isStuck(row) && row.reason?.code !== 'no_proxy';
  if (isAskable && row.wanted !== null) return { ...row, provider: null, due: null, attempt: 0, reason: null };
  const isThere = isBlockedFor(row, 'exists_already');
  return isThere && row.wanted !== null ? { ...requeue(row, { now, attempt: 0 }), adopting: true } : undefined;
}
