// Makes the rows that were read at a start hold the specs of the desired state, where the two are equal: each is kept once
// then, as it is for rows that a commit makes while the controller runs.
import type { DesiredState } from '../desired/desired-state.ts';
import { isSameSpec } from '../machine/existence.ts';
import { isSame } from '../model/json.ts';
import type { ServerRow } from '../model/rows.ts';
import type { Spec, WantedServer } from '../model/spec.ts';
import { type Steps, visitAll } from '../model/steps.ts';
import type { Ledger } from '../reconcile/ledger.ts';

/** Replaces the specs of rows by equal ones of the desired state, in memory. */
export function* shareSpecs(
  ledger: Pick<Ledger, 'server' | 'replaceEqual'>,
  { units }: Pick<DesiredState, 'units'>,
): Steps<void> {
  for (const unit of units.values()) {
    yield* visitAll(unit.servers.values(), (server) => {
      const row = ledger.server(server.name);
      const value = row === undefined ? undefined : withSpecOf(row, server);
      if (row !== undefined && value !== undefined) ledger.replaceEqual(server.name, { expected: row, value });
    });
    yield;
  }
}

/** Returns the row with the server's own spec and policy; undefined where the row wants another spec, or has these already. */
function withSpecOf(row: ServerRow, { spec, policy }: WantedServer): ServerRow | undefined {
  const { wanted, action } = row;
  if (wanted === null || wanted === spec || !isSameSpec(wanted, spec)) return undefined;
  const shared = (other: Spec | null): Spec | null => (other === wanted ? spec : other);
  return {
    ...row,
    policy: isSame({ ...row.policy }, { ...policy }) ? policy : row.policy,
    wanted: spec,
    applied: shared(row.applied),
    action: action === null ? null : { ...action, spec: shared(action.spec) },
  };
}
