// Records of processes, as text: written before a process does anything, read at the next start.
import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap } from '../model/json.ts';
import { identityOf, type ProcessIdentity } from './linux-processes.ts';

const ID_FILE = 'id';
const RUNNER_FILE = 'runner';

/** A process in a record. */
export interface RecordedProcess extends ProcessIdentity {
  /** It was recorded in another directory, of which this one is a copy. */
  readonly isForeign?: true;
}

/** Returns what identifies a directory on this machine, also once it is moved. A copy of it has another one. */
export function directoryPlace(directory: string): string {
  const { dev, ino } = statSync(directory, { bigint: true });
  return `${dev}:${ino}`;
}

/** Records the process that runs the programs. Throws if that fails. */
export function writeRunnerRecord(directory: string, pid: number): void {
  writeFileSync(join(directory, RUNNER_FILE), recordText(pid, { place: directoryPlace(directory) }), { mode: 0o600 });
}

/** Returns the process that runs the programs, as it was recorded. */
export function readRunnerRecord(directory: string): RecordedProcess | undefined {
  const text = readIfThere(join(directory, RUNNER_FILE));
  return text === undefined ? undefined : processIn(text, directoryPlace(directory));
}

/** Forgets that process. */
export function removeRunnerRecord(directory: string): void {
  rmSync(join(directory, RUNNER_FILE), { force: true });
}

/** Forgets all that is recorded, whatever version has written it. */
export function clearRecords(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (name !== ID_FILE) rmSync(join(directory, name), { force: true, recursive: true });
  }
}

/** Returns the record of a process group, with facts for the person who looks: JSON in ASCII. */
export function recordText(group: number, facts: Readonly<Record<string, string>>): string {
  const text = JSON.stringify({ ...facts, group, process: identityOf(group) ?? null });
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}

/** Returns the process in a record of the directory with that place; undefined if the text is none. */
export function processIn(text: string, place: string): RecordedProcess | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isMap(value) || !isMap(value.process)) return undefined;
    const { pid, start, boot } = value.process;
    if (typeof pid !== 'number' || typeof start !== 'string' || typeof boot !== 'string') return undefined;
    // Older versions have not recorded the directory.
    const isForeign = typeof value.place === 'string' && value.place !== place;
    return { pid, start, boot, ...(isForeign ? { isForeign } : {}) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Returns the group of a recorded process if that still runs. */
export function runningGroupOf(recorded: ProcessIdentity): number | undefined {
  // No program is the first process of the system, and its number means every process to kill(2).
  if (recorded.pid <= 1) return undefined;
  const now = identityOf(recorded.pid);
  return now?.start === recorded.start && now.boot === recorded.boot ? recorded.pid : undefined;
}

/** Returns how the marks of a directory's calls begin. A copy of the directory has another prefix. */
export function markPrefix(directory: string): string {
  const file = join(directory, ID_FILE);
  const id = readIfThere(file)?.trim() || randomUUID();
  writeFileSync(file, id, { mode: 0o600 });
  return createHash('sha256')
    .update(`${id} ${directoryPlace(directory)}`)
    .digest('hex')
    .slice(0, 16);
}

/** Returns the text of a file; undefined if there is none. */
export function readIfThere(file: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | undefined {
  try {
    return readFileSync(file, encoding);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
