// Ends the processes of a call: its process group, and those that have left the group and carry its mark.
import { setTimeout as wait } from 'node:timers/promises';
import { type ListedProcess, listProcesses, sendSignal } from './linux-processes.ts';

/** The processes of one call. */
export interface CallProcesses {
  /** The id of the process group. */
  readonly group: number;
  /** False: the id may be that of another group by now, since the leader of this one has ended. */
  readonly isOwn: boolean;
  /** Undefined: only the group is ended. */
  readonly mark: string | undefined;
}

/** The processes of a call that still run. */
export interface Survivors {
  /** They were sent SIGKILL and have not ended: the kernel waits for a broken disk, for example. */
  readonly ending: readonly number[];
  /** This user may not signal them: they run as another user. */
  readonly refused: readonly number[];
}

const FIRST_WAIT_MS = 10;
const WAIT_MS_MAX = 500;

/**
 * Sends SIGKILL until none of the processes runs, or until only those run that may not be signalled; at most for `ms`.
 */
export async function endProcesses(call: CallProcesses, ms: number): Promise<Survivors> {
  const end = performance.now() + ms;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    if (call.isOwn) sendSignal(-call.group, 'SIGKILL');
    const found = (await listProcesses()).filter((each) => belongsTo(call, each)).map(({ pid }) => pid);
    const refused = found.filter((pid) => sendSignal(pid, 'SIGKILL') === 'refused');
    const ending = found.filter((pid) => !refused.includes(pid));
    if (ending.length === 0 || performance.now() > end) return { ending, refused };
    await wait(waitMs);
  }
}

/** Returns true if a process belongs to a call. The mark of other users' processes cannot be read. */
export function belongsTo(call: CallProcesses, { pid, group, mark }: ListedProcess): boolean {
  if (call.mark !== undefined && call.mark === mark) return true;
  return group === call.group && (call.isOwn || sendSignal(pid, 0) === 'refused');
}
