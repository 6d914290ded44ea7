// Ends what an earlier controller, proxy or runner process has left running.
import { mkdirSync } from 'node:fs';
import { readCallRecords } from './call-records.ts';
import { endProcesses } from './end-processes.ts';
import { clearRecords, markPrefix, type RecordedProcess, readRunnerRecord, runningGroupOf } from './process-records.ts';
import type { CallDirectory, CallLog } from './running-calls.ts';

/** How long a start waits for processes that SIGKILL has to end. */
const LEFTOVER_MS_MAX = 60_000;

/** A directory of calls after a start: of no earlier call of it anything runs. */
interface ClearedDirectory extends CallDirectory {
  /** It is a copy, and processes of the directory that was copied run. */
  readonly isCopied: boolean;
}

/** Processes of an earlier controller cannot be ended. The message names them. */
export class LeftoverError extends Error {
  override readonly name = 'LeftoverError';
}

/**
 * Ends every process that the calls recorded in a directory have left, removes the records, and returns how the marks of
 * its calls begin. The directory is made if missing. Throws LeftoverError if a process cannot be ended. No other process
 * may use the directory. Where it is a copy, the processes of the copied directory are those of another controller: they
 * go on.
 */
export async function endLeftovers(directory: string, log: CallLog): Promise<ClearedDirectory> {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const prefix = markPrefix(directory);
  // First the process that starts programs: it may still be starting one.
  const runner = runningIn([readRunnerRecord(directory)]);
  await endAll(runner.own, () => false);
  const { own: groups, foreign } = runningIn(readCallRecords(directory));
  if (groups.length > 0) log.warn({ groups }, 'ending programs that an earlier controller has left');
  await endAll([null, ...groups], (mark) => mark.startsWith(`${prefix}.`));
  clearRecords(directory);
  const isCopied = runner.foreign.length + foreign.length > 0;
  if (isCopied)
    log.warn({}, 'the directory is a copy, and programs of the one that was copied run: they are left alone');
  return { directory, prefix, isCopied };
}

/** Returns the groups of the recorded processes that run: of this directory, and of one that it is a copy of. */
function runningIn(recorded: readonly (RecordedProcess | undefined)[]): Record<'own' | 'foreign', number[]> {
  const groups = { own: [] as number[], foreign: [] as number[] };
  for (const process of recorded) {
    const group = process && runningGroupOf(process);
    if (group !== undefined) groups[process?.isForeign ? 'foreign' : 'own'].push(group);
  }
  return groups;
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
