// Compares the servers of a held history with what is active: what a person has to know before accepting it.
import { countOf } from '../base/wording.ts';
import type { AcceptedEffect, Baseline, DesiredState } from '../desired/desired-state.ts';
import { changedServers, changedUnits } from '../plan/changed-servers.ts';
import type { ServerChange } from '../plan/plan.ts';
import { compareServers } from '../plan/server-changes.ts';

/** Returns what happens to servers if the desired state follows the baseline. */
export function acceptedEffect({ units: before }: Baseline, { units: after, losses }: DesiredState): AcceptedEffect {
  const compared = { before, after, writtenBefore: new Map(), losses, isSecret: () => true };
  const { changes, retained } = compareServers(changedServers(changedUnits(before, after)), compared);
  const by = (action: ServerChange['action']): readonly string[] =>
    changes.flatMap((change) => (change.action === action ? [change.resource] : []));
  const deletes = by('delete');
  const text =
    `accepting it creates ${countOf(by('create').length, 'server')}, updates ${by('update').length}, ` +
    `retains ${retained.length} and, after another approval, deletes ${deletes.length}`;
  return { text, deletes };
}
