// Activates a desired state: one commit of the store writes every row that follows from it, then readers see it.
import type { Clock } from '../clock.ts';
import type { Baseline, DesiredState } from '../desired/desired-state.ts';
import type { Logger } from '../log.ts';
import { isError } from '../model/problem.ts';
import type { CommitGate } from '../reconcile/commit-gate.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { CurrentState } from './current-state.ts';
import { lastRecordsOf } from './last-records.ts';
import { logProblems } from './log-problems.ts';
import { serversOfProxies } from './proxy-clients.ts';
import { syncChanges } from './sync.ts';
import { placeAndCode } from './tell-refusal.ts';
import { warnOfCapacity } from './warn-of-capacity.ts';

/** One poll of the branch; its operation id goes through the log of everything that follows from it. */
export interface Poll {
  readonly operation: string;
  readonly log: Logger;
}

/** The parts that an activation reads and changes. */
export interface ActivationParts {
  readonly ledger: Ledger;
  readonly gate: CommitGate;
  readonly current: CurrentState;
  readonly reconciler: Pick<Reconciler, 'enqueue'> & Partial<Pick<Reconciler, 'proxyWork'>>;
  readonly clock: Clock;
}

interface Activation extends Poll {
  /** The desired state that was active until now; undefined: every server is enqueued. */
  readonly before?: DesiredState | undefined;
  /** The same, also where every row is enqueued at; left out: `before`. */
  readonly last?: Baseline | undefined;
  /** The newest commit of the branch, followed or not; undefined before the first poll. */
  readonly newest?: string | undefined;
  /** Judges the desired state by the rows as they are in the exclusive section. Left out: it is activated as it is. */
  readonly judge?: () => DesiredState;
  /** Returns the client that wrote an instance; left out: none is known. */
  readonly clientOf?: (instance: string) => string | null;
}

/** Activates a desired state. Its deletes are judged in the same exclusive section in which its rows are written. */
export async function activate(
  { ledger, gate, current, reconciler, clock }: ActivationParts,
  derived: DesiredState,
  { operation, log, before, last = before, newest, judge = () => derived, clientOf = () => null }: Activation,
): Promise<void> {
  const { journalBytes, rowBytes } = ledger;
  const { desired, changes } = await gate.exclusive(async () => {
    const judged = judge();
    const lastRecord = lastRecordsOf(last);
    const now = clock.now();
    const wanted = syncChanges(ledger, { desired: judged, before, last, newest, now, lastRecord });
    const { commit } = judged;
    await ledger.commit(wanted, {
      kind: 'commit',
      now,
      commit,
      clientOf,
      mistakeOf: (name) => mistakeOf(name, judged),
    });
    current.set(judged);
    return { desired: judged, changes: wanted };
  });
  const servers = changes.filter(({ kind }) => kind === 'server').map(({ name }) => name);
  // What was held and is not any more has rows that did not change.
  const released = changes.filter(({ kind, value }) => kind === 'held' && value === null).map(({ name }) => name);
  const enqueued = before === undefined ? ledger.list('server').keys() : servers;
  const ofProxies = [...serversOfProxies(ledger, { before, desired })].filter((server) =>
    reconciler.proxyWork?.isAwaiting(server),
  );
  const ofReleased = released.flatMap((name) => ledger.index.serversOf(name));
  reconciler.enqueue([...enqueued, ...ofReleased, ...ofProxies], operation);
  const counts = { ...desired.counts, servers: servers.length, journalBytes: ledger.journalBytes - journalBytes };
  log.info({ commit: desired.commit, ...counts, problems: desired.problems.length }, 'commit followed');
  logProblems(desired.problems, log);
  warnOfCapacity(desired, { before, bytesBefore: rowBytes }, log);
  for (const [instance, { reason, digest }] of desired.held) log.warn({ instance, digest, reason }, 'deletes are held');
}

/** Returns the place of the first mistake of an invalid instance; undefined for a valid one. */
function mistakeOf(instance: string, { invalid, problems }: DesiredState): string | undefined {
  if (!invalid.has(instance)) return undefined;
  const first = problems.find((problem) => isError(problem) && problem.instances?.includes(instance));
  return first === undefined ? 'it is invalid' : placeAndCode(first);
}
