// Looks at the processes of contrib/providers/local-server from outside, as the system has them, and at its log.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT } from './command-line.ts';

/** The path of the program. */
export const LOCAL_SERVER = join(ROOT, 'contrib/providers/local-server/local-server.mjs');

interface ServerProcess {
  readonly pid: number;
  readonly name: string;
}

/** Returns the release of every server that runs, by its name. Fails if a server has two processes, or an unknown one. */
export function runningReleases(directory: string): Readonly<Record<string, string>> {
  const processes = processesOf(directory);
  const names = processes.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  const releases = processes.map(({ pid, name }) => {
    const running = JSON.parse(readFileSync(join(directory, 'servers', name, 'running.json'), 'utf8'));
    expect(running.process.pid).toBe(pid);
    return [name, running.properties.release];
  });
  return Object.fromEntries(releases);
}

/** Returns the process of every server that runs, by the server's name. */
export function runningProcesses(directory: string): Readonly<Record<string, number>> {
  return Object.fromEntries(processesOf(directory).map(({ pid, name }) => [name, pid]));
}

/** Returns the ids of processes that belong to a call for a server of the directory. */
export function markedProcesses(directory: string): readonly number[] {
  const isOfCall = (pid: number): boolean => {
    const environment = environmentOf(pid);
    return environment.includes(variableOf(directory)) && environment.some((each) => each.startsWith('TREELINE_CALL='));
  };
  return processIds().filter(isOfCall);
}

/** Ends the processes of all servers of the directory. */
export function endServers(directory: string): void {
  for (const { pid } of processesOf(directory)) process.kill(pid, 'SIGKILL');
}

/** A line of the log. */
export interface LogLine {
  readonly time: string;
  readonly pid: number;
  readonly event: 'begin' | 'end' | 'started' | 'ended';
  readonly operation?: string;
  /** `<server>.<incarnation>.<operation>…`. */
  readonly action?: string;
  readonly resource: string;
  /** Of the end of a call. */
  readonly outcome?: string;
}

/**
 * Checks the log of a directory: the processes of a server start and end in turn, and another incarnation is created only
 * once the process of the last one has ended. Where a delete was killed before it ended the process, or its program came
 * too late to do it or never began, the create that follows may find it.
 */
export function expectSoundLog(directory: string): void {
  const lines: readonly LogLine[] = readFileSync(join(directory, 'calls.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const faults = [...Map.groupBy(lines, ({ resource }) => resource)].flatMap(([name, history]) =>
    faultsIn(name, history),
  );
  expect(faults).toEqual([]);
}

/** Returns what is wrong in the course of one server. See {@link expectSoundLog}. */
export function faultsIn(name: string, history: readonly LogLine[]): readonly string[] {
  const faults: string[] = [];
  let isRunning = false;
  let created = -1;
  /** Deletes that began, or were to begin, without an end that says that it is gone. */
  let cutOff = 0;
  const begun = new Set<string>();
  /** Deletes that were lost before their program began: only checks tell of them, which have the id of the lost action. */
  const asked = new Set<string>();
  for (const { event, operation, action = '', outcome } of history) {
    if (event === 'started' || event === 'ended') {
      if (isRunning === (event === 'started')) faults.push(`${name}: ${event} twice`);
      isRunning = event === 'started';
    }
    if (operation === 'delete' && event === 'begin') {
      if (!asked.delete(action)) cutOff += 1;
      begun.add(action);
    }
    if (operation === 'check' && isOfDelete(name, action) && !begun.has(action) && !asked.has(action)) {
      asked.add(action);
      cutOff += 1;
    }
    if (operation === 'delete' && (outcome === 'done' || outcome === 'absent')) cutOff -= 1;
    if (event !== 'begin' || operation !== 'create') continue;
    const incarnation = Number(action.slice(name.length + 1).split('.')[0]);
    if (incarnation < created) faults.push(`${name}: incarnation ${incarnation} after ${created}`);
    if (incarnation > created && isRunning && cutOff === 0) {
      const course = history
        .map(({ time, pid, ...line }) => [time, pid, line.event, line.operation, line.action, line.outcome])
        .map((facts) => facts.filter(Boolean).join(' '))
        .join('\n  ');
      faults.push(`${name}: incarnation ${incarnation} is created while it runs:\n  ${course}`);
    }
    created = incarnation;
    cutOff = 0;
  }
  return faults;
}

/** Returns true if the action `<server>.<incarnation>.<operation>…` is a delete. */
function isOfDelete(name: string, action: string): boolean {
  return action.slice(name.length + 1).split('.')[1] === 'delete';
}

function processesOf(directory: string): readonly ServerProcess[] {
  return processIds().flatMap((pid) => {
    const [, program, command, name] = readProcess(pid, 'cmdline').split('\0');
    const isServer = program === LOCAL_SERVER && command === 'run' && name !== undefined;
    return isServer && environmentOf(pid).includes(variableOf(directory)) ? [{ pid, name }] : [];
  });
}

function variableOf(directory: string): string {
  return `LOCAL_SERVER_DIRECTORY=${directory}`;
}

function environmentOf(pid: number): readonly string[] {
  return readProcess(pid, 'environ').split('\0');
}

function processIds(): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number);
}

/** Returns an empty text if the process has ended. */
function readProcess(pid: number, file: string): string {
  const path = `/proc/${pid}/${file}`;
  try {
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}
