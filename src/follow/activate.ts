// Activates a desired state: one commit of the store writes every row that follows from it, then readers see it.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { RunInSlices } from '../base/slices.ts';
import { type Steps, visitAll } from '../base/steps.ts';
import type { Baseline, DesiredState } from '../desired/desired-state.ts';
import { isError, type Problem, placeAndCode } from '../model/problem.ts';
import type { Change, FollowedPlace } from '../model/rows.ts';
import { beginningChange } from '../reconcile/earlier-controller.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { CurrentState } from './current-state.ts';
import { lastRecordsOf } from './last-records.ts';
import { logProblems } from './log-problems.ts';
import { serversOfProxies } from './proxy-clients.ts';
import { syncChanges } from './sync.ts';
import { warnOfCapacity } from './warn-of-capacity.ts';

/** One poll of the branch; its operation id goes through the log of everything that follows from it. */
export interface Poll {
  readonly operation: string;
  readonly log: Logger;
}

/** The parts that an activation reads and changes. */
export interface ActivationParts {
  readonly ledger: Ledger;
  readonly current: CurrentState;
  readonly reconciler: Pick<Reconciler, 'enqueue'> & Partial<Pick<Reconciler, 'isAwaitingProxy'>>;
  readonly clock: Clock;
  readonly inSlices: RunInSlices;
}

interface Activation extends Poll {
  /** Where the commit was read. */
  readonly place: FollowedPlace;
  /** The desired state that was active until now; undefined: every server is enqueued. */
  readonly before?: DesiredState | undefined;
  /** The versions that were active until now, also at a start, where every server is enqueued; left out: `before`. */
  readonly last?: Baseline | undefined;
  /** The newest commit of the branch, followed or not; undefined before the first poll. */
  readonly newest?: string | undefined;
  /** Returns the client that wrote an instance; left out: none is known. */
  readonly clientOf?: (instance: string) => string | null;
}

/** A desired state as it was judged. */
interface JudgedState {
  readonly desired: DesiredState;
  /** The changes of rows that it makes, if they are known already. */
  readonly changes?: readonly Change[] | undefined;
}

/**
 * Activates a desired state. Runs in the exclusive section in which its deletes were judged: other work runs between two
 * slices of it, but none that writes rows. Readers see the rows and the desired state change at once.
 */
export async function activate(parts: ActivationParts, judged: JudgedState, activation: Activation): Promise<void> {
  const { ledger, inSlices } = parts;
  const { log, before } = activation;
  const { savedBytes, rowBytes } = ledger;
  const { desired } = judged;
  const changes = await record(parts, judged, activation);
  await inSlices(enqueueConcerned(parts, activation, { desired, changes }));
  const servers = changes.filter(({ kind }) => kind === 'server').length;
  const counts = { ...desired.counts, servers, savedBytes: ledger.savedBytes - savedBytes };
  log.info({ commit: desired.commit, ...counts, problems: desired.problems.length }, 'commit followed');
  logProblems(desired.problems, log);
  warnOfCapacity(desired, { before, bytesBefore: rowBytes }, log);
  for (const [instance, { reason, digest }] of desired.held) log.warn({ instance, digest, reason }, 'deletes are held');
}

/** Writes the rows that follow from a desired state, shows it, and returns the changes. */
async function record(
  { ledger, current, clock, inSlices }: ActivationParts,
  { desired, changes: known }: JudgedState,
  { place, before, last = before, newest, clientOf = () => null }: Activation,
): Promise<readonly Change[]> {
  const lastRecord = lastRecordsOf(last);
  const now = clock.now();
  const synced =
    known ?? (await inSlices(syncChanges(ledger, { desired, place, before, last, newest, now, lastRecord })));
  const changes = [...synced, ...beginningChange(ledger, now)];
  const { commit } = desired;
  const cause = { kind: 'commit', now, commit, clientOf, mistakeOf: mistakesIn(desired) } as const;
  await ledger.commit(changes, cause, () => current.set(desired));
  return changes;
}

/** Enqueues the servers that a commit concerns: those whose rows changed, and those that may go on without such a change. */
function* enqueueConcerned(
  { ledger, reconciler }: ActivationParts,
  { operation, before }: Activation,
  { desired, changes }: { readonly desired: DesiredState; readonly changes: readonly Change[] },
): Steps<void> {
  const enqueue = (name: string): void => reconciler.enqueue([name], operation);
  if (before === undefined) yield* visitAll(ledger.list('server').keys(), enqueue);
  yield* visitAll(changes, ({ kind, name, value }) => {
    if (kind === 'server' && before !== undefined) enqueue(name);
    // What was held and is not any more has rows that did not change.
    if (kind === 'held' && value === null) ledger.index.serversOf(name).forEach(enqueue);
  });
  yield* visitAll(serversOfProxies(ledger, { before, desired }), (name) => {
    if (reconciler.isAwaitingProxy?.(name)) enqueue(name);
  });
}

/** Returns a function that returns the place of the first mistake of an invalid instance; undefined for a valid one. */
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
