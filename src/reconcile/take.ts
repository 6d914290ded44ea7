// Takes an estate into force: everything that follows from it goes into one commit of the store; only then it is seen.
import type { Clock } from '../clock.ts';
import type { Estate, Standing } from '../estate/estate.ts';
import type { Logger } from '../log.ts';
import type { CommitGate } from './commit-gate.ts';
import type { CurrentEstate } from './current-estate.ts';
import { farewellsOf } from './farewells.ts';
import type { Ledger } from './ledger.ts';
import { logProblems } from './log-problems.ts';
import type { Reconciler } from './reconciler.ts';
import { syncChanges } from './sync.ts';
import { warnOfRoom } from './warn-of-room.ts';

/** One look at the branch; its operation id goes through the log of everything that follows from it. */
export interface Look {
  readonly operation: string;
  readonly log: Logger;
}

export interface Taker {
  readonly ledger: Ledger;
  readonly gate: CommitGate;
  readonly current: CurrentEstate;
  readonly reconciler: Pick<Reconciler, 'look'>;
  readonly clock: Clock;
}

interface Taking extends Look {
  /** What was in force until now; undefined: every row is looked at. */
  readonly before?: Estate | undefined;
  /** The same, also where every row is looked at; left out: `before`. */
  readonly last?: Standing | undefined;
  /** The newest commit of the branch, taken or not; undefined where nobody has looked yet. */
  readonly newest?: string | undefined;
  /** Judges the estate by the rows as they are when nobody else writes. Left out: it is taken as it is. */
  readonly judge?: () => Estate;
}

/** Takes an estate: what it takes away is judged in the same exclusive turn in which its rows are written. */
export async function takeEstate(
  { ledger, gate, current, reconciler, clock }: Taker,
  derived: Estate,
  { operation, log, before, last = before, newest, judge = () => derived }: Taking,
): Promise<void> {
  const { journalBytes, rowBytes } = ledger;
  const { estate, changes } = await gate.exclusive(async () => {
    const judged = judge();
    const farewell = farewellsOf(last);
    const wanted = syncChanges(ledger, { estate: judged, before, last, newest, now: clock.now(), farewell });
    await ledger.commit(wanted);
    current.set(judged);
    return { estate: judged, changes: wanted };
  });
  const servers = changes.filter(({ kind }) => kind === 'server').map(({ name }) => name);
  // What was held and is not any more has rows that did not change.
  const released = changes.filter(({ kind, value }) => kind === 'held' && value === null).map(({ name }) => name);
  const looked = before === undefined ? ledger.list('server').keys() : servers;
  reconciler.look([...looked, ...released.flatMap((name) => ledger.index.serversOf(name))], operation);
  const counts = { ...estate.counts, servers: servers.length, journalBytes: ledger.journalBytes - journalBytes };
  log.info({ commit: estate.commit, ...counts, problems: estate.problems.length }, 'commit followed');
  logProblems(estate.problems, log);
  warnOfRoom(estate, { before, bytesBefore: rowBytes }, log);
  for (const [instance, { reason, digest }] of estate.held) log.warn({ instance, digest, reason }, 'deletes are held');
}
