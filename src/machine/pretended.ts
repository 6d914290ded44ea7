// Forgets what a provider has only pretended to make, once another one is responsible. Pure.
import { momentOf } from '../model/moment.ts';
import { NO_OUTPUTS } from '../model/outputs.ts';
import type { ServerRow } from '../model/rows.ts';
import { advance, requeue } from './advance.ts';

/**
 * Returns the row of a server that no provider has seen: for the one that is responsible now it was never made. It is
 * checked first, like every new one.
 */
export function forgetPretended({ isPretended: _, ...row }: ServerRow, now: number): ServerRow {
  const at = { now: momentOf(now) };
  const facts = {
    ...{ action: null, applied: null, outputs: NO_OUTPUTS, provider: null, incarnation: row.incarnation + 1 },
    ...{ checked: false, mayExist: false, dirty: false, replacing: false, approved: false },
    ...{ attempt: 0, gaveUp: false, due: null },
  };
  const isRunning = row.action !== null && row.state !== 'unknown';
  const lost = isRunning ? advance(row, 'lose', at) : row;
  return lost.state === 'unknown' ? advance(lost, 'learn', { ...at, ...facts }) : requeue(lost, { ...at, ...facts });
}
