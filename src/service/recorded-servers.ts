// Lists the recorded servers with what is wanted and applied, for programs that compare a desired state with them.
import { liftsIn } from '../desired/lifts.ts';
import { nameAt } from '../model/address.ts';
import { compareNames } from '../model/names.ts';
import type { ServerRow } from '../model/rows.ts';
import { sortNames } from '../model/sort-names.ts';
import { type Steps, visitAll } from '../model/steps.ts';
import type { HeldItem, RecordedServer, RecordedState } from './operator.ts';
import type { View } from './recorded-rows.ts';
import { viewAtMoment } from './view-at-moment.ts';

/**
 * Returns work that lists the recorded servers of the moment of this call, sorted by name. Records and actions under way are not
 * part of it.
 */
export function recordedIn(view: View<{ readonly commit: string }>, held: readonly HeldItem[]): Steps<RecordedState> {
  return listServers(viewAtMoment(view), held);
}

function* listServers(
  moment: Steps<View<{ readonly commit: string }>>,
  held: readonly HeldItem[],
): Steps<RecordedState> {
  const { desired, rows } = yield* moment;
  const instances = new Set(rows.list('held').keys());
  const servers: RecordedServer[] = [];
  yield* visitAll(yield* sortNames([...rows.list('server').keys()]), (name) => {
    const row = rows.server(name);
    if (row !== undefined) servers.push(recordedServer(name, row, instances));
  });
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
