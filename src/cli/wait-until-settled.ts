// Waits until a commit is followed, none of its changes is in progress, and optionally until it is delivered.
import { setTimeout as sleep } from 'node:timers/promises';
import { firstNames } from '../base/wording.ts';
import type { Overview } from '../service/answers.ts';
import { CommandFailure } from './command-failure.ts';
import { formatNode, readDelivered } from './delivered.ts';
import { firstLine } from './output.ts';
import { getFrom, mayPass, type ServerOptions } from './server-connection.ts';
import { findCommit } from './short-ids.ts';

const POLL_MS = 500;

interface Awaited {
  /** A revision for {@link findCommit}. */
  readonly commit: string;
  /** Undefined: all instances. */
  readonly instance: string | undefined;
  /** Also wait until all nodes that report run the record of the commit or a later one. */
  readonly delivered: boolean;
  readonly timeoutMs: number;
  /** Prints the progress. */
  readonly progress: (line: string) => void;
}

interface Outcome {
  /** Everything has happened. */
  readonly isDone: boolean;
  /** The instance is gone. */
  readonly isGone?: boolean;
  /** The reason why the wait ended early; undefined if everything has settled. */
  readonly reason?: string;
}

interface Waiting extends Awaited {
  readonly server: ServerOptions;
  /** The instance existed before. */
  isKnown: boolean;
}

/**
 * Resolves when everything has settled, the commit cannot be followed, or the time is over. Throws CommandFailure.
 */
export async function waitUntilSettled(server: ServerOptions, awaited: Awaited): Promise<Outcome> {
  const deadline = performance.now() + awaited.timeoutMs;
  const printed = new Set<string>();
  const progress = (line: string): void => {
    if (!printed.has(line)) awaited.progress(line);
    printed.add(line);
  };
  let waiting: Waiting | undefined;
  for (;;) {
    const isLate = performance.now() >= deadline;
    try {
      waiting ??= { ...awaited, commit: await findCommit(server, awaited.commit), server, progress, isKnown: false };
      progress(`waiting until ${waiting.commit} is followed`);
      const outcome = await look(waiting, isLate);
      if (outcome !== undefined) return outcome;
    } catch (error) {
      if (isLate || !mayPass(error)) throw error;
      progress(error.message);
    }
    await sleep(Math.min(POLL_MS, Math.max(0, deadline - performance.now())));
  }
}

/** Checks once. Resolves with undefined to check again. `isLate`: the time is over, so it resolves with an outcome. */
async function look(waiting: Waiting, isLate: boolean): Promise<Outcome | undefined> {
  const { commit, instance, timeoutMs, progress } = waiting;
  const overview = await readStatus(waiting.server, { 'x-treeline-min-commit': commit });
  if (overview instanceof CommandFailure) return await lookForCommit(waiting, isLate);
  const awaited = overview.instances.filter(({ name }) => instance === undefined || name === instance);
  if (instance !== undefined && awaited.length === 0) {
    if (waiting.isKnown) return { isDone: true, isGone: true };
    throw new CommandFailure(`there is no stack instance "${instance}" at that commit`);
  }
  waiting.isKnown = true;
  const open = awaited.filter((one) => !isSettled(one)).map(({ name, status }) => `${name} (${status})`);
  if (open.length > 0) {
    progress(`waiting for ${firstNames(open)}`);
    return isLate ? { isDone: false, reason: `still in progress after ${timeoutMs / 1000} s` } : undefined;
  }
  const isDone = awaited.every(({ status }) => status === 'Done');
  return isDone && waiting.delivered ? await lookForDelivery(waiting, isLate) : { isDone };
}

/** Resolves with the failure if the controller cannot be reached, is not ready, or does not follow the commit yet. */
async function readStatus(server: ServerOptions, headers = {}): Promise<Overview | CommandFailure> {
  try {
    return (await getFrom(server, '/operations/status', { headers })) as Overview;
  } catch (error) {
    if (mayPass(error)) return error;
    throw error;
  }
}

/** Repeats the check, because the controller waits only a limited time for the commit. */
async function lookForCommit(waiting: Waiting, isLate: boolean): Promise<Outcome | undefined> {
  const { server, commit, timeoutMs, progress } = waiting;
  const overview = await readStatus(server);
  if (overview instanceof CommandFailure) progress(overview.message);
  const { newest = null, attention = [] } = overview instanceof CommandFailure ? {} : overview;
  const unread = attention.find(({ kind }) => kind === 'repository');
  if (unread !== undefined) progress(`${firstLine(unread.reason)} (since ${unread.since})`);
  if (newest?.commit === commit) {
    return { isDone: false, reason: `the commit ${commit} is not followed: ${newest.reason}; do: ${newest.action}` };
  }
  if (!isLate) return undefined;
  const others = newest === null ? '' : `; the newest one, ${newest.commit}, is not either: ${newest.reason}`;
  return { isDone: false, reason: `the commit ${commit} is not followed after ${timeoutMs / 1000} s${others}` };
}

async function lookForDelivery(
  { server, commit, instance, progress }: Waiting,
  isLate: boolean,
): Promise<Outcome | undefined> {
  const { summary, counts } = await readDelivered(server, { commit, instance }, 'failed');
  progress(summary);
  if (counts.outdated + counts.failed === 0) return { isDone: true };
  if (!isLate) return undefined;
  const { nodes } = await readDelivered(server, { commit, instance }, 'outdated,failed');
  return { isDone: false, reason: `not delivered in time: ${summary}\n${nodes.map(formatNode).join('\n')}` };
}

const MOVING = ['creating', 'updating', 'deleting', 'retrying', 'unknown'] as const;

/** Returns true if nothing happens to an instance until an operator acts. */
function isSettled({ status, counts }: Overview['instances'][number]): boolean {
  if (status !== 'Marked for delete') return status !== 'In progress';
  const isMoving = MOVING.some((state) => (counts[state] ?? 0) > 0);
  return !isMoving && (counts.failed ?? 0) + (counts.blocked ?? 0) > 0;
}
