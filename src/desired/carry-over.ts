// Admits a commit that changes nothing which admission decides: every instance stays, makes the same servers and depends on
// the same ones. So it looks at no servers of instances that did not change. admit.ts decides about all other commits.

import { isSameList } from '../base/lists.ts';
import type { Steps } from '../base/steps.ts';
import { instanceAddress } from '../model/address.ts';
import type { WantedServer } from '../model/spec.ts';
import { type AdmittedInstances, judged, type Proposal, type Safety, UNJUDGED } from './admit.ts';
import { judgeDeletions } from './deletions.ts';
import type { DesiredState } from './desired-state.ts';
import { hasCapacityFor } from './store-capacity.ts';
import { isRetaining, isValidUnit, type Unit } from './unit.ts';

/**
 * Returns what `admitInstances` returns, if that follows from what is active; undefined if it does not: an instance came, went
 * or changed its servers, one is refused or held, or the store is short of capacity.
 */
export function* carryOver(
  { candidates, undetermined }: Proposal,
  baseline: DesiredState,
  safety?: Safety,
): Steps<AdmittedInstances | undefined> {
  const bytes = safety?.recordedBytes ?? 0;
  if (!(yield* areCompatible(candidates, baseline))) return undefined;
  if (!hasCapacityFor(candidates.values(), { baseline, bytes })) return undefined;
  yield;
  const { owners } = baseline;
  const limits = { isShort: false };
  const admitted = { units: candidates, owners, refused: NONE, problems: [], limits };
  if (safety === undefined) return { ...admitted, ...UNJUDGED };
  const consequences = {
    removed: new Map(),
    handedOver: new Map(),
    specOf: (server: string) => candidates.get(owners.get(server) ?? '')?.servers.get(server)?.spec,
    retains: (instance: string) => isRetaining(candidates.get(instanceAddress(instance))),
    isPinned: () => false,
    undetermined,
  };
  const judgement = judgeDeletions(consequences, safety.deletions);
  if (judgement.held.size > 0) return undefined;
  return { ...admitted, ...judged(judgement, { units: candidates, limits, consequences, baseline, safety }) };
}

const NONE: ReadonlySet<string> = new Set();

/** Returns true if all candidates are compatible because the active versions are. */
function* areCompatible(candidates: ReadonlyMap<string, Unit>, baseline: DesiredState): Steps<boolean> {
  // One that is refused stays active though it needs what is gone, or is in a circle.
  if (baseline.invalid.size > 0 || baseline.held.size > 0) return false;
  const active = [...baseline.units].filter(([, { type }]) => type === 'stack-instance');
  if (active.length !== candidates.size) return false;
  for (const [key, unit] of active) {
    const candidate = candidates.get(key);
    if (candidate === unit) continue;
    if (candidate === undefined || !isValidUnit(candidate) || !hasSameTies(candidate, unit)) return false;
    yield;
  }
  return true;
}

/** Returns true if both versions make the same servers, with the same dependencies. */
function hasSameTies(unit: Unit, active: Unit): boolean {
  if (unit.servers.size !== active.servers.size || !isSameList(neededBy(unit), neededBy(active))) return false;
  return [...unit.servers].every(([name, server]) => hasSameDependencies(server, active.servers.get(name)));
}

function hasSameDependencies({ spec }: WantedServer, active: WantedServer | undefined): boolean {
  return active !== undefined && isSameList(spec.dependsOn, active.spec.dependsOn);
}

/** Returns the dependencies on servers of other instances, as pairs. */
function neededBy({ outside }: Unit): readonly string[] {
  return outside.flatMap(({ of, server }) => [of, server]);
}
