// Lists the recorded servers with what is wanted and applied, for programs that compare a desired state with them.
import { liftsIn } from '../desired/lifts.ts';
import { nameAt } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import type { ServerRow } from '../model/rows.ts';
import type { HeldItem, RecordedServer, RecordedState } from './operator.ts';
import type { View } from './recorded-rows.ts';

/** Returns the recorded servers, sorted by name. Records and actions under way are not part of it. */
export function recordedIn(
  { desired, rows }: View<{ readonly commit: string }>,
  held: readonly HeldItem[],
): RecordedState {
  const instances = new Set(rows.list('held').keys());
  const servers = [...rows.list('server')]
    .sort(([a], [b]) => compareNames(a, b))
    .map(([name, row]) => recordedServer(name, row, instances));
  const lifted = [...liftsIn(rows.list('held'))].map(nameAt).sort(compareNames);
  return { commit: desired.commit, held, lifted, servers };
}

function recordedServer(name: string, row: ServerRow, held: ReadonlySet<string>): RecordedServer {
  const { instance, key, index, state, reason, since, commit, generation, incarnation, provider } = row;
  const { wanted, applied, mayExist, dirty, replacing, approved, outputs, policy } = row;
  return {
    ...{ name, instance, key, index, state, reason, since, commit, generation, incarnation, provider },
    ...{ wanted, applied, mayExist, dirty, replacing, approved, held: held.has(instance) },
    ...{ protected: policy.protected, deletion: policy.deletion, outputs },
  };
}
