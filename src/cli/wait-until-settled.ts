// Waits until a commit is followed and none of its changes is in progress any more.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Overview } from '../service/answers.ts';
import { CommandFailure } from './command-failure.ts';
import { firstLine } from './output.ts';
import { getFrom, RefusedRequest, type ServerOptions } from './server-connection.ts';

const POLL_MS = 500;
const RETRY_MS = 1_000;
/** So many changes are told after each poll. */
const TOLD_MAX = 10;

interface Awaited {
  /** Full object id. */
  readonly commit: string;
  /** Undefined: all instances. */
  readonly instance: string | undefined;
  readonly timeoutMs: number;
  /** Tells a person how it goes on. */
  readonly progress: (line: string) => void;
}

interface Outcome {
  /** The commit is followed, and all that was waited for is `Done` or gone. */
  readonly isDone: boolean;
  /** The reason why the wait ended early; undefined where everything has settled. */
  readonly reason: string | undefined;
}

type OverviewEntry = Overview['instances'][number];

/** Resolves once all has settled, the commit turns out not to be followed, or the time is over. Throws CommandFailure. */
export async function waitUntilSettled(server: ServerOptions, awaited: Awaited): Promise<Outcome> {
  const deadline = performance.now() + awaited.timeoutMs;
  const reason = await untilFollowed(server, awaited, deadline);
  return reason === undefined ? await untilQuiet(server, awaited, deadline) : { isDone: false, reason };
}

/** Returns why the commit is not followed, or undefined once it is. The controller waits a while before it says no. */
async function untilFollowed(
  server: ServerOptions,
  { commit, timeoutMs, progress: tell }: Awaited,
  deadline: number,
): Promise<string | undefined> {
  tell(`waiting until ${commit} is followed`);
  const refusedUntil = deadline;
  let told = '';
  const tellOnce = (line: string): void => {
    if (line !== told) tell(line);
    told = line;
  };
  while (true) {
    try {
      await getFrom(server, '/operations/status', { headers: { 'x-treeline-min-commit': commit }, refusedUntil });
      return undefined;
    } catch (error) {
      if (!(error instanceof RefusedRequest) || error.status !== 503) throw error;
      const newest = await newestIn(server, tellOnce, deadline);
      if (newest?.commit === commit)
        return `the commit ${commit} is not followed: ${newest.reason}; do: ${newest.action}`;
      const others = newest === null ? '' : `; the newest one, ${newest.commit}, is not either: ${newest.reason}`;
      if (performance.now() >= deadline) {
        return `the commit ${commit} is not followed after ${timeoutMs / 1000} s${others}`;
      }
    }
    await sleep(Math.min(RETRY_MS, Math.max(0, deadline - performance.now())));
  }
}

/** A controller that is not ready yet knows none, and says why. */
async function newestIn(
  server: ServerOptions,
  tell: Awaited['progress'],
  refusedUntil: number,
): Promise<Overview['newest']> {
  try {
    const { newest, repository } = (await getFrom(server, '/operations/status', { refusedUntil })) as Overview;
    if (repository !== undefined)
      tell(`the repository could not be followed since ${repository.since}: ${firstLine(repository.reason)}`);
    return newest;
  } catch (error) {
    if (error instanceof RefusedRequest && error.status === 503) {
      tell(error.message);
      return null;
    }
    throw error;
  }
}

async function untilQuiet(
  server: ServerOptions,
  { instance, timeoutMs, progress: tell }: Awaited,
  deadline: number,
): Promise<Outcome> {
  const told = new Map<string, string>();
  while (true) {
    const { instances } = (await getFrom(server, '/operations/status', { refusedUntil: deadline })) as Overview;
    const awaited = instances.filter(({ name }) => instance === undefined || name === instance);
    if (instance !== undefined && awaited.length === 0 && told.size === 0) {
      throw new CommandFailure(`there is no stack instance "${instance}" at that commit`);
    }
    const changed = awaited.filter(({ name, status }) => told.get(name) !== status);
    for (const { name, status } of changed.slice(0, TOLD_MAX)) tell(`${name}: ${status}`);
    if (changed.length > TOLD_MAX) tell(`and ${changed.length - TOLD_MAX} more have changed`);
    for (const { name, status } of changed) told.set(name, status);
    if (awaited.every(isSettled)) {
      return { isDone: awaited.every(({ status }) => status === 'Done'), reason: undefined };
    }
    if (performance.now() >= deadline) {
      return { isDone: false, reason: `still in progress after ${timeoutMs / 1000} s` };
    }
    await sleep(Math.min(POLL_MS, Math.max(0, deadline - performance.now())));
  }
}

/** Returns whether nothing happens to an instance before a person acts. */
function isSettled({ status, counts }: OverviewEntry): boolean {
  if (status === 'Marked for delete') return !isMoving(counts) && (counts.failed ?? 0) + (counts.blocked ?? 0) > 0;
  return status !== 'In progress';
}

function isMoving({
  creating = 0,
  updating = 0,
  deleting = 0,
  retrying = 0,
  unknown = 0,
}: OverviewEntry['counts']): boolean {
  return creating + updating + deleting + retrying + unknown > 0;
}
