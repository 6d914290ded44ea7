// Begins a recovery: the rows may differ from what was done, so no action starts until an operator resumes. Pure.
// docs/decisions/0006-recovery.md.
import { toRfc3339 } from '../base/wording.ts';
import type { Change, RecoveryRow, Rows } from '../model/rows.ts';
import type { ExecutionSettings } from '../model/settings.ts';

/** The name of the one row of the kind `recovery`. */
export const RECOVERY = 'recovery';

/** Why a recovery begins. */
export interface RecoveryCause extends Pick<RecoveryRow, 'cause' | 'reason'> {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How long an unrecorded action may still run. */
  readonly runsMs: number;
}

interface RecoveredRows {
  list<Kind extends 'recovery' | 'server' | 'approval'>(kind: Kind): ReadonlyMap<string, Rows[Kind]>;
}

const ID_BASE = 36;

/** Returns the change that begins a recovery. It replaces one that is not over. */
export function recoveryChange(rows: RecoveredRows, { cause, reason, now, runsMs }: RecoveryCause): Change {
  const since = toRfc3339(now);
  const id = now.toString(ID_BASE);
  const expected = rows.list('recovery').get(RECOVERY);
  const notBefore = toRfc3339(Math.max(now + runsMs, Date.parse(expected?.notBefore ?? since)));
  return { kind: 'recovery', name: RECOVERY, value: { id, cause, reason, since, notBefore }, expected };
}

/**
 * Returns the changes that begin a recovery after rows were lost or set back. Servers may have been replaced since,
 * with the next incarnation numbers. So each row gets an incarnation that none of them can have, and a provider does
 * not mistake an action for an earlier one. Approvals are removed, because they may have been used.
 */
export function recoverRows(rows: RecoveredRows, lost: Omit<RecoveryCause, 'cause'>): readonly Change[] {
  const servers = [...rows.list('server')].map(([name, expected]): Change => {
    const value = { ...expected, incarnation: Math.max(expected.incarnation + 1, lost.now) };
    return { kind: 'server', name, value, expected };
  });
  const approvals = [...rows.list('approval')].map(
    ([name, expected]): Change => ({ kind: 'approval', name, value: null, expected }),
  );
  return [...servers, ...approvals, recoveryChange(rows, { cause: 'store', ...lost })];
}

/** Returns the longest time after which an action counts as ended. */
export function longestActionMs({
  providers,
  proxied,
  graceSeconds,
}: Pick<ExecutionSettings, 'providers' | 'graceSeconds'> & {
  readonly proxied: Pick<ExecutionSettings['proxied'], 'timeoutSeconds'>;
}): number {
  const longest = Math.max(...[...providers, proxied].map(({ timeoutSeconds }) => timeoutSeconds));
  return (longest + graceSeconds) * 1000;
}
