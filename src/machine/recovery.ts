// A recovery: what is recorded may not be what was done, so no action starts until an operator resumes. Pure.
// docs/decisions/0006-recovery.md.
import { momentOf } from '../base/wording.ts';
import type { Change, RecoveryRow, Rows } from '../model/rows.ts';
import type { ExecutionSettings } from '../model/settings.ts';

/** The name of the one row of the kind `recovery`. */
export const RECOVERY = 'recovery';

/** Why a recovery begins. */
export interface RecoveryCause extends Pick<RecoveryRow, 'cause' | 'reason'> {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How long an action may still run that is not recorded. */
  readonly runsMs: number;
}

interface RecoveryRows {
  list(kind: 'recovery'): ReadonlyMap<string, Rows['recovery']>;
}

const ID_BASE = 36;

/** Returns the change that begins a recovery, in place of one that is not over. */
export function recoveryChange(rows: RecoveryRows, { cause, reason, now, runsMs }: RecoveryCause): Change {
  const since = momentOf(now);
  const id = now.toString(ID_BASE);
  const expected = rows.list('recovery').get(RECOVERY);
  const notBefore = momentOf(Math.max(now + runsMs, Date.parse(expected?.notBefore ?? since)));
  return { kind: 'recovery', name: RECOVERY, value: { id, cause, reason, since, notBefore }, expected };
}

/** Returns for how long an action runs at most, until it counts as ended. */
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
