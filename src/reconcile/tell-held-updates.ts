// Records that the other updates of a commit are held, since too many have failed, as an event of the instances that it
// concerns. decision-context.ts holds them.
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { isConverged } from '../machine/existence.ts';
import { failuresDigest } from '../machine/hold-digests.ts';
import { momentOf } from '../model/moment.ts';
import type { Change } from '../model/rows.ts';
import { updatesAreHeld } from './decision-context.ts';
import type { Ledger } from './ledger.ts';

interface Parts {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Records one event for each instance of a commit when its updates begin to be held. */
export function tellHeldUpdates(parts: Parts): void {
  const { ledger, log } = parts;
  /** The commits of which it was told. */
  const told = new Set<string>();
  ledger.watch((change) => {
    if (change.kind === 'rollout' && change.value === null) told.delete(change.name);
    const commit = failedCommitOf(change);
    if (commit === undefined || told.has(commit) || !updatesAreHeld(commit, ledger)) return;
    told.add(commit);
    tell(parts, commit).catch((error: unknown) => log.error({ err: error, commit }, 'an event could not be recorded'));
  });
}

/** Returns the commit whose update has just failed for good, if the change says so. */
function failedCommitOf(change: Change): string | undefined {
  if (change.kind !== 'server' || change.value?.gaveUp !== true || change.expected?.gaveUp === true) return undefined;
  return change.value.commit;
}

function tell({ ledger, clock }: Parts, commit: string): Promise<void> {
  const rows = [...ledger.list('server').values()].filter((row) => row.commit === commit && !isConverged(row));
  const failed = ledger.index.failedUpdatesOf(commit).size;
  const reason = `${failed} updates of the commit have failed, so the others do not start; approve with: treeline approve ${failuresDigest(commit)}`;
  const facts = { time: momentOf(clock.now()), resource: null, from: null, to: null, reason, commit, client: null };
  return ledger.tell([...new Set(rows.map(({ instance }) => instance))].map((instance) => ({ instance, ...facts })));
}
