// Ends what an earlier controller, proxy or runner process has left running.
import { mkdirSync } from 'node:fs';
import { readCallRecords } from './call-records.ts';
import { endProcesses } from './end-processes.ts';
import { clearRecords, markPrefix, readRunnerRecord, runningGroupOf } from './process-records.ts';
import type { CallDirectory, CallLog } from './running-calls.ts';

/** How long a start waits for processes that SIGKILL has to end. */
const LEFTOVER_MS_MAX = 60_000;

/** Processes of an earlier controller cannot be ended. The message names them. */
export class LeftoverError extends Error {
  override readonly name = 'LeftoverError';
}

/**
 * Ends every process that the calls recorded in a directory have left, removes the records, and returns how the marks of
 * its calls begin. The directory is made if missing. Throws LeftoverError if a process cannot be ended. No other process
 * may use the directory.
 */
export async function endLeftovers(directory: string, log: CallLog): Promise<CallDirectory> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const prefix = markPrefix(directory);
  // First the process that starts programs: it may still be starting one.
  const recorded = readRunnerRecord(directory);
  const runner = recorded && runningGroupOf(recorded);
  if (runner !== undefined) await endAll([runner], () => false);
  const groups = readCallRecords(directory).flatMap((process) => runningGroupOf(process) ?? []);
  if (groups.length > 0) log.warn({ groups }, 'ending programs that an earlier controller has left');
  await endAll([null, ...groups], (mark) => mark.startsWith(`${prefix}.`));
  clearRecords(directory);
  return { directory, prefix };
}

/** Ends process groups; null: the marked processes. */
async function endAll(groups: readonly (number | null)[], isMarked: (mark: string) => boolean): Promise<void> {
  const ended = await Promise.all(
    groups.map(async (group) => {
      const processes = { group, isMarked: group === null ? isMarked : () => false };
      return (await endProcesses(processes, LEFTOVER_MS_MAX)) ? [] : [group];
    }),
  );
  const left = ended.flat();
  if (left.length === 0) return;
  const names = left.map((group) => (group === null ? 'marked processes' : `process group ${group}`));
  throw new LeftoverError(`programs of an earlier controller still run and cannot be ended: ${names.join(', ')}`);
}
