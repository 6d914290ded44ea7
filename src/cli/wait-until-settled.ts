// Waits in one loop until a commit is followed, none of its changes is in progress, and if asked, until it is
// delivered.
import { setTimeout as sleep } from 'node:timers/promises';
import { firstNames } from '../base/wording.ts';
import type { Overview } from '../service/answers.ts';
import { CommandFailure } from './command-failure.ts';
import { listNodes, readDelivered } from './delivered-command.ts';
import { firstLine } from './output.ts';
import { getFrom, RefusedRequest, type ServerOptions } from './server-connection.ts';

const POLL_MS = 500;

interface Awaited {
  /** Full object id. */
  readonly commit: string;
  /** Undefined: all instances. */
  readonly instance: string | undefined;
  /** Wait also until all nodes that report run the record of the commit or a later one. */
  readonly delivered: boolean;
  readonly timeoutMs: number;
  /** Prints the progress. */
  readonly progress: (line: string) => void;
}

interface Outcome {
  /** All that was waited for has happened. */
  readonly isDone: boolean;
  /** The instance is gone. */
  readonly isGone?: boolean;
  /** The reason why the wait ended early; undefined if everything has settled. */
  readonly reason?: string;
}

/** One poll of a stage. Returns undefined to poll again; `isLate`: the time is over, so it returns an outcome. */
type Stage = (isLate: boolean) => Promise<Outcome | undefined>;

const DONE: Outcome = { isDone: true };

/**
 * Resolves once all has settled, the commit turns out not to be followed, or the time is over. Throws CommandFailure.
 */
export async function waitUntilSettled(server: ServerOptions, awaited: Awaited): Promise<Outcome> {
  const deadline = performance.now() + awaited.timeoutMs;
  const printed = new Map<string, string>();
  const report = (about: string, line: string): void => {
    if (printed.get(about) !== line) awaited.progress(line);
    printed.set(about, line);
  };
  const waiting = { ...awaited, server, deadline, report };
  const stages = [untilFollowed(waiting), untilQuiet(waiting), ...(awaited.delivered ? [untilDelivered(waiting)] : [])];
  let outcome = DONE;
  for (const stage of stages) {
    outcome = await poll(stage, deadline);
    if (!outcome.isDone || outcome.isGone) break;
  }
  return outcome;
}

async function poll(stage: Stage, deadline: number): Promise<Outcome> {
  for (;;) {
    const outcome = await stage(performance.now() >= deadline);
    if (outcome !== undefined) return outcome;
    await sleep(Math.min(POLL_MS, Math.max(0, deadline - performance.now())));
  }
}

interface Waiting extends Awaited {
  readonly server: ServerOptions;
  /** Of `performance.now()`. */
  readonly deadline: number;
  /** Prints a line about something, unless it was the last one about that. */
  readonly report: (about: string, line: string) => void;
}

/** The controller waits a while before it answers that it does not follow the commit. */
function untilFollowed({ server, commit, timeoutMs, deadline, report }: Waiting): Stage {
  const read = (headers: Readonly<Record<string, string>>): Promise<unknown> =>
    getFrom(server, '/operations/status', { headers, refusedUntil: deadline });
  report('commit', `waiting until ${commit} is followed`);
  return async (isLate) => {
    const followed = await orNotReady(read({ 'x-treeline-min-commit': commit }));
    if (!(followed instanceof RefusedRequest)) return DONE;
    const overview = await orNotReady(read({}));
    if (overview instanceof RefusedRequest) report('controller', overview.message);
    const { newest = null, repository } = overview instanceof RefusedRequest ? {} : (overview as Overview);
    if (repository !== undefined) {
      const reason = firstLine(repository.reason);
      report('controller', `the repository could not be followed since ${repository.since}: ${reason}`);
    }
    if (newest?.commit === commit) {
      return { isDone: false, reason: `the commit ${commit} is not followed: ${newest.reason}; do: ${newest.action}` };
    }
    if (!isLate) return undefined;
    const others = newest === null ? '' : `; the newest one, ${newest.commit}, is not either: ${newest.reason}`;
    return { isDone: false, reason: `the commit ${commit} is not followed after ${timeoutMs / 1000} s${others}` };
  };
}

/** Returns the refusal of a controller that does not follow the commit yet, or is not ready. */
async function orNotReady(answer: Promise<unknown>): Promise<unknown> {
  return await answer.catch((error: unknown) => {
    if (error instanceof RefusedRequest && error.status === 503) return error;
    throw error;
  });
}

function untilQuiet({ server, instance, timeoutMs, deadline, report }: Waiting): Stage {
  let isKnown = false;
  return async (isLate) => {
    const { instances } = (await getFrom(server, '/operations/status', { refusedUntil: deadline })) as Overview;
    const awaited = instances.filter(({ name }) => instance === undefined || name === instance);
    if (instance !== undefined && awaited.length === 0) {
      if (!isKnown) throw new CommandFailure(`there is no stack instance "${instance}" at that commit`);
      return { isDone: true, isGone: true };
    }
    isKnown = true;
    const open = awaited.filter((one) => !isSettled(one)).map(({ name, status }) => `${name} (${status})`);
    if (open.length === 0) return { isDone: awaited.every(({ status }) => status === 'Done') };
    report('instances', `waiting for ${firstNames(open)}`);
    return isLate ? { isDone: false, reason: `still in progress after ${timeoutMs / 1000} s` } : undefined;
  };
}

function untilDelivered({ server, commit, instance, report }: Waiting): Stage {
  return async (isLate) => {
    const { summary, counts } = await readDelivered(server, { commit, instance }, 'failed');
    report('delivery', summary);
    if (counts.outdated + counts.failed === 0) return DONE;
    if (!isLate) return undefined;
    const { nodes } = await readDelivered(server, { commit, instance }, 'outdated,failed');
    return { isDone: false, reason: `not delivered in time: ${summary}\n${listNodes(nodes)}` };
  };
}

const MOVING = ['creating', 'updating', 'deleting', 'retrying', 'unknown'] as const;

/** Returns true if nothing happens to an instance until an operator acts. */
function isSettled({ status, counts }: Overview['instances'][number]): boolean {
  if (status !== 'Marked for delete') return status !== 'In progress';
  const isMoving = MOVING.some((state) => (counts[state] ?? 0) > 0);
  return !isMoving && (counts.failed ?? 0) + (counts.blocked ?? 0) > 0;
}
