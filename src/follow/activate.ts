// Activates a desired state: one store commit writes all rows that follow from it, then readers see it.

import type { Breathe } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { historyDigest } from '../machine/hold-digests.ts';
import { RECOVERY } from '../machine/recovery.ts';
import { isError, type Problem, placeAndCode, placeOf } from '../model/problem.ts';
import type { Change, FollowedPlace } from '../model/rows.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import { countEffects, followedChanges, type NewCommit } from './commit-rows.ts';
import type { CurrentState } from './current-state.ts';
import { syncChanges } from './sync.ts';

/** One poll of the branch. Log lines about its consequences contain its operation id. */
export interface Poll {
  readonly operation: string;
  readonly log: Logger;
}

/** The parts that an activation uses. */
export interface ActivationParts {
  readonly ledger: Ledger;
  readonly current: CurrentState;
  readonly reconciler: Pick<Reconciler, 'enqueue'> & Partial<Pick<Reconciler, 'isAwaitingProxy'>>;
  readonly clock: Clock;
  readonly breathe: Breathe;
}

interface Activation extends Poll {
  /** The repository and branch of the commit. */
  readonly place: FollowedPlace;
  /** The desired state that was active before; undefined: every server is enqueued. */
  readonly before?: DesiredState | undefined;
  /** The versions that were active before. Set at a start, where `before` is undefined; omitted: `before`. */
  readonly last?: Baseline | undefined;
  /** The newest commit of the branch, followed or not; undefined before the first poll. */
  readonly newest?: string | undefined;
  /** For the history of commits; undefined if it has the commit already. */
  readonly judged?: NewCommit | undefined;
  /** Returns the client that wrote an instance; omitted: none is known. */
  readonly clientOf?: (instance: string) => string | null;
}

/**
 * Activates a desired state, in the exclusive section in which its deletes were judged. Other work may run during it,
 * but no other work writes rows. Readers see the rows and the desired state change together.
 */
export async function activate(parts: ActivationParts, desired: DesiredState, activation: Activation): Promise<void> {
  const { log } = activation;
  const changes = await record(parts, desired, activation);
  enqueueAffected(parts, activation, changes);
  const servers = changes.filter(({ kind }) => kind === 'server').length;
  log.info(
    { commit: desired.commit, ...desired.counts, servers, problems: desired.problems.length },
    'commit followed',
  );
  logProblems(desired.problems, log);
  for (const [instance, { reason, digest }] of desired.held) log.warn({ instance, digest, reason }, 'deletes are held');
}

/** Writes the rows that follow from a desired state, shows it, and returns the changes. */
async function record(
  { ledger, current, clock, breathe }: ActivationParts,
  desired: DesiredState,
  { place, before, last = before, newest, judged, clientOf = () => null }: Activation,
): Promise<readonly Change[]> {
  const now = clock.now();
  const changes = await syncChanges(ledger, { desired, place, before, last, newest, now, breathe });
  const { commit } = desired;
  const cause = { kind: 'commit', now, commit, clientOf, mistakeOf: mistakesIn(desired) } as const;
  const counts = judged && (await countEffects(last ?? EMPTY_BASELINE, desired, breathe));
  const history = judged && counts ? followedChanges(ledger, { ...judged, counts }, now) : [];
  const all = [...changes, ...acceptedRecovery(ledger, commit), ...history];
  await ledger.commit(all, cause, () => current.set(desired, now));
  return changes;
}

/** Returns the change that ends a recovery if an operator has accepted the commit. */
function acceptedRecovery(ledger: Pick<Ledger, 'read'>, commit: string): readonly Change[] {
  const expected = ledger.read('recovery', RECOVERY);
  const isAccepted = ledger.read('approval', historyDigest(commit)) !== undefined;
  if (expected?.cause !== 'repository' || !isAccepted) return [];
  return [{ kind: 'recovery', name: RECOVERY, value: null, expected }];
}

/**
 * Enqueues the servers that a commit affects: servers whose rows changed, and servers that may continue without a
 * change of their row.
 */
function enqueueAffected(
  { ledger, reconciler }: ActivationParts,
  { operation, before }: Activation,
  changes: readonly Change[],
): void {
  const enqueue = (name: string): void => reconciler.enqueue([name], operation);
  if (before === undefined) for (const name of ledger.list('server').keys()) enqueue(name);
  for (const { kind, name, value } of changes) {
    if (kind === 'server' && before !== undefined) enqueue(name);
    // Servers whose hold ends may have unchanged rows.
    if (kind === 'held' && value === null) ledger.index.serversOf(name).forEach(enqueue);
  }
  // Another proxy may be responsible for a server now.
  if (before !== undefined)
    for (const name of ledger.list('server').keys()) if (reconciler.isAwaitingProxy?.(name)) enqueue(name);
}

/** Returns a function that returns the place of an instance's first mistake; undefined for a valid instance. */
function mistakesIn({ invalid, problems }: DesiredState): (instance: string) => string | undefined {
  const first = new Map<string, Problem>();
  for (const problem of problems.filter(isError)) {
    for (const instance of problem.instances ?? []) if (!first.has(instance)) first.set(instance, problem);
  }
  return (instance) => {
    if (!invalid.has(instance)) return undefined;
    const problem = first.get(instance);
    return problem === undefined ? 'it is invalid' : placeAndCode(problem);
  };
}

const LOGGED_MAX = 20;

/** Logs the first problems, one line each. */
export function logProblems(problems: readonly Problem[], log: Logger): void {
  for (const problem of problems.slice(0, LOGGED_MAX)) {
    log.warn({ code: problem.code, instances: problem.instances }, textOf(problem));
  }
}

/** Returns a problem in one line. */
export function textOf(problem: Problem): string {
  const { message, hint } = problem;
  const place = placeOf(problem);
  return `${place === '' ? '' : `${place}: `}${message}${hint === null ? '' : ` (${hint})`}`;
}
