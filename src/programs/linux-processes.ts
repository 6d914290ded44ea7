// Reads the processes of this machine from /proc, and signals them. On systems without /proc the list is empty.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/** The variable that marks every process of a call. A daemon that should survive removes it; see docs/providers.md. */
export const MARK_VARIABLE = 'TREELINE_CALL';

/** A process. Its start time distinguishes it from a later one with the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since the system was started. */
  readonly start: string;
}

/** A running process. */
export interface ListedProcess {
  readonly pid: number;
  readonly group: number;
  /** The value of {@link MARK_VARIABLE} at its start; undefined without one, and for processes of other users. */
  readonly mark: string | undefined;
}

const BOOT_FILE = '/proc/sys/kernel/random/boot_id';
/** Positions in /proc/PID/stat after the name, which may contain spaces and parentheses; see proc(5). */
const STATE = 0;
const GROUP = 2;
const START = 19;
/** All callers within this time share one search. */
const SHARE_MS = 20;

/** Returns true if this system shows its processes in /proc. */
export function hasProcessList(): boolean {
  return existsSync(BOOT_FILE);
}

/** Returns the id of this start of the system; undefined without /proc. */
export function bootId(): string | undefined {
  return hasProcessList() ? readFileSync(BOOT_FILE, 'latin1').trim() : undefined;
}

/** Returns the identity of a process, or undefined if it does not exist or this system does not show it. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const path = `/proc/${pid}/stat`;
  try {
    return { pid, start: fieldsOf(readFileSync(path, 'latin1'))[START] ?? '' };
  } catch (error) {
    return missing(error);
  }
}

let next: Promise<readonly ListedProcess[]> | undefined;

/** Returns all running processes. The search begins after the call. */
export function listProcesses(): Promise<readonly ListedProcess[]> {
  next ??= wait(SHARE_MS).then(() => {
    next = undefined;
    return search();
  });
  return next;
}

async function search(): Promise<readonly ListedProcess[]> {
  const found: ListedProcess[] = [];
  for (const name of hasProcessList() ? readdirSync('/proc') : []) {
    if (!/^[0-9]+$/.test(name)) continue;
    const fields = fieldsOf((await readIfThere(`/proc/${name}/stat`)) ?? '');
    const isRunning = fields.length > START && fields[STATE] !== 'Z' && fields[STATE] !== 'X';
    if (isRunning) found.push({ pid: Number(name), group: Number(fields[GROUP]), mark: await markOf(name) });
  }
  return found;
}

async function markOf(pid: string): Promise<string | undefined> {
  const variables = ((await readIfThere(`/proc/${pid}/environ`)) ?? '').split('\0');
  return variables.find((each) => each.startsWith(`${MARK_VARIABLE}=`))?.slice(MARK_VARIABLE.length + 1);
}

function fieldsOf(stat: string): readonly string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Returns undefined if the process has ended, or belongs to another user. */
function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'latin1').catch(missing);
}

function missing(error: unknown): undefined {
  if (error instanceof Error && 'code' in error) return undefined;
  throw error;
}

/** Sends a signal to a process, or with a negative id to its group. Returns why it did not arrive. */
export function sendSignal(target: number, name: NodeJS.Signals | 0): 'gone' | 'refused' | undefined {
  try {
    process.kill(target, name);
    return undefined;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    return error.code === 'ESRCH' ? 'gone' : 'refused';
  }
}
