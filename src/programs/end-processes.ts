// Ends the processes of a call: its process group, and those that have left the group and carry its mark.
import { setTimeout as wait } from 'node:timers/promises';
import { hasProcessList, markedProcesses, runningGroups } from './linux-processes.ts';
import { signalGroup, signalProcess } from './spawn-program.ts';

/** The processes of one call, or of all calls of an earlier controller. */
export interface CallProcesses {
  /** The id of the process group, which is that of its first process; null: only marked ones. */
  readonly group: number | null;
  readonly isMarked: (mark: string) => boolean;
}

const FIRST_WAIT_MS = 10;
const WAIT_MS_MAX = 500;

/**
 * Sends SIGKILL until none of the processes runs. Returns false if some still run after `ms`: such as one that waits
 * for a broken disk, or runs as another user.
 */
export async function endProcesses(processes: CallProcesses, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    const { group, isMarked } = processes;
    if (group !== null) signalGroup(group, 'SIGKILL');
    const marked = [...(await markedProcesses())].flatMap(([mark, pids]) => (isMarked(mark) ? pids : []));
    for (const pid of marked) signalProcess(pid, 'SIGKILL');
    // Nothing was marked in this round, so nothing can have been started by a marked process since.
    if (marked.length === 0 && (group === null || (await isGroupGone(group)))) return true;
    if (performance.now() > end) return false;
    await wait(waitMs);
  }
}

/** Resolves once no process of the group runs, with true, or with false after `ms`. */
export async function untilGroupGone(group: number, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, WAIT_MS_MAX)) {
    if (await isGroupGone(group)) return true;
    const leftMs = end - performance.now();
    if (leftMs <= 0) return false;
    await wait(Math.min(waitMs, leftMs));
  }
}

/** Returns true if no process of the group runs. */
export async function isGroupGone(group: number): Promise<boolean> {
  if (!signalGroup(group, 0)) return true;
  // Processes that have ended stay in the group until their parent has waited for them.
  return hasProcessList() && !(await runningGroups()).has(group);
}
