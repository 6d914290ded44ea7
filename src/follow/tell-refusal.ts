// Records that a commit is not followed as an event of all instances.
import type { RefusedCommit } from '../desired/desired-state.ts';
import { refusalEvent } from '../machine/instance-events.ts';
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import { isError, placeAndCode } from '../model/problem.ts';
import type { Ledger } from '../reconcile/ledger.ts';

const ALL = { after: 0, limit: Number.MAX_SAFE_INTEGER };

/** Records the event, unless it is the last one of its kind: after a restart the same commit is refused again. */
export async function tellRefusal(
  ledger: Ledger,
  { commit, reason, hold, problems }: Omit<RefusedCommit, 'since'>,
  now: number,
): Promise<void> {
  const first = problems.find(isError);
  // Messages quote what stands in a file, and proxies read events.
  const words = hold === null && first !== undefined ? `${placeAndCode(first)}; see treeline problems` : reason;
  const event = refusalEvent({ commit, reason: words }, now);
  const { events } = await ledger.events(EVERY_INSTANCE, ALL);
  const last = events.findLast(({ to }) => to === event.to);
  if (last?.commit !== commit || last.reason !== event.reason) await ledger.tell([event]);
}
