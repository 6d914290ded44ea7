// Reads the processes of this machine from /proc. Other systems do not have it: there no process is found.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { systemTurns } from '../base/slices.ts';

/** The variable that marks every process of a call. A daemon that is to stay removes it; see docs/providers.md. */
export const MARK_VARIABLE = 'TREELINE_CALL';

/** A process, told apart from a later one with the same id by its start time. */
export interface ProcessIdentity {
  readonly pid: number;
  /** In clock ticks since the system was started. */
  readonly start: string;
  /** The id of this start of the system. */
  readonly boot: string;
}

interface ProcessStat {
  readonly state: string;
  readonly group: number;
  readonly start: string;
}

const BOOT_FILE = '/proc/sys/kernel/random/boot_id';
/** Positions in /proc/PID/stat after the name, which may hold spaces and parentheses; see proc(5). */
const STATE = 0;
const GROUP = 2;
const START = 19;

let bootId: string | undefined;

/** Returns true if this system shows its processes in /proc. */
export function hasProcessList(): boolean {
  return existsSync(BOOT_FILE);
}

/** Returns the identity of a process, or undefined if it does not exist or this system does not show it. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const start = statOf(pid)?.start;
  // It stays the same for as long as this process lives.
  bootId ??= readText(BOOT_FILE)?.trim();
  const boot = bootId;
  return start === undefined || boot === undefined ? undefined : { pid, start, boot };
}

/**
 * Returns the process groups with a process that runs. One that has ended and was not waited for does not count.
 */
export const runningGroups = shareRuns(async (): Promise<ReadonlySet<number>> => {
  const groups = new Set<number>();
  for await (const pid of processIds()) {
    const stat = statOf(pid);
    if (stat !== undefined && stat.state !== 'Z' && stat.state !== 'X') groups.add(stat.group);
  }
  return groups;
});

/** Returns the marked processes, by their mark: the value that {@link MARK_VARIABLE} had when each began. */
export const markedProcesses = shareRuns(async (): Promise<ReadonlyMap<string, readonly number[]>> => {
  const marked = new Map<string, number[]>();
  for await (const pid of processIds()) {
    const environment = readText(`/proc/${pid}/environ`) ?? '';
    if (!environment.includes(MARK_VARIABLE)) continue;
    const mark = environment.split('\0').find((each) => each.startsWith(`${MARK_VARIABLE}=`));
    if (mark !== undefined) append(marked, mark.slice(MARK_VARIABLE.length + 1), pid);
  }
  return marked;
});

function append(lists: Map<string, number[]>, key: string, pid: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [pid]);
  else list.push(pid);
}

async function* processIds(): AsyncGenerator<number> {
  if (!hasProcessList()) return;
  for (const name of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(name)) continue;
    yield Number(name);
    if (systemTurns.isOver()) await systemTurns.next();
  }
}

function statOf(pid: number): ProcessStat | undefined {
  const text = readText(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[STATE] ?? '', group: Number(fields[GROUP]), start: fields[START] ?? '' };
}

/** A process may end at any moment, and those of others may not be read. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}

/**
 * Returns a function that shares runs among its callers, since a search is costly: many callers at once get the result of
 * one. No caller gets a run that began before its call.
 */
export function shareRuns<Value>(run: () => Promise<Value>): () => Promise<Value> {
  let current: Promise<Value> | undefined;
  let next: Promise<Value> | undefined;
  function begin(): Promise<Value> {
    next = undefined;
    const begun = run().finally(() => {
      if (current === begun) current = undefined;
    });
    current = begun;
    return begun;
  }
  return () => {
    if (current === undefined) return begin();
    next ??= current.then(begin, begin);
    return next;
  };
}
