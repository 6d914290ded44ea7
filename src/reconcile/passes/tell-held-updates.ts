// Records that the other updates of a commit are held, since too many have failed, as an event of the instances that it
// concerns. decision-context.ts holds them.
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { momentOf } from '../../base/wording.ts';
import { isHealQueued } from '../../machine/drift.ts';
import { isConverged } from '../../machine/existence.ts';
import { failuresDigest } from '../../machine/hold-digests.ts';
import type { Change, ServerRow } from '../../model/rows.ts';
import type { Ledger } from '../ledger.ts';
import { updatesAreHeld } from './decision-context.ts';

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
    const commit = concernedCommitOf(change);
    if (commit === undefined || told.has(commit) || !updatesAreHeld(commit, ledger)) return;
    const instances = heldInstances(ledger, commit);
    if (instances.length === 0) return;
    told.add(commit);
    recordHeldUpdates(parts, commit, instances).catch((error: unknown) =>
      log.error({ err: error, commit }, 'an event could not be recorded'),
    );
  });
}

/** Returns the commit whose update has just failed for good, or one of whose servers is to be healed. */
function concernedCommitOf(change: Change): string | undefined {
  if (change.kind !== 'server' || change.value === null) return undefined;
  const { value, expected } = change;
  const hasFailed = value.gaveUp && expected?.gaveUp !== true;
  return hasFailed || isHealQueued(value) ? value.commit : undefined;
}

/** Returns the instances with servers whose update is held. */
function heldInstances(ledger: Ledger, commit: string): readonly string[] {
  const rows = [...ledger.list('server').values()].filter((row) => row.commit === commit);
  const isHeld = (row: ServerRow): boolean => isAwaited(row) && !isConverged(row) && !row.gaveUp;
  return rows.some(isHeld) ? [...new Set(rows.filter((row) => !isConverged(row)).map(({ instance }) => instance))] : [];
}

/** Returns true if an update may start. */
function isAwaited({ wanted, applied, state }: ServerRow): boolean {
  return wanted !== null && applied !== null && state !== 'drifted';
}

function recordHeldUpdates({ ledger, clock }: Parts, commit: string, instances: readonly string[]): Promise<void> {
  const failed = ledger.index.failedUpdatesOf(commit).size;
  const reason = `${failed} updates of the commit have failed, so the others do not start; approve with: treeline approve ${failuresDigest(commit)}`;
  const facts = { time: momentOf(clock.now()), resource: null, from: null, to: null, reason, commit, client: null };
  return ledger.recordEvents(instances.map((instance) => ({ instance, ...facts })));
}
