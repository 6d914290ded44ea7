// The pure way from a commit to the estate in force. Reconciling, the service and the command line all take it.
import type { Catalog } from './catalog/catalog.ts';
import { loadCatalog } from './catalog/load-catalog.ts';
import { type Admission, admitInstances, type Safety } from './estate/admit.ts';
import { buildCandidates } from './estate/candidates.ts';
import { EMPTY_STANDING, type Estate, type Standing } from './estate/estate.ts';
import { nothingLeft } from './estate/nothing-left.ts';
import { objectsInForce } from './estate/objects-in-force.ts';
import { registerClients } from './estate/registry.ts';
import { isSound, type Unit } from './estate/unit.ts';
import { type Problem, sortProblems } from './model/problem.ts';
import type { Snapshot } from './model/snapshot.ts';

/** A commit that is followed, or one that is not taken and why; then everything stays as it is. */
export type Derivation =
  | {
      readonly isTaken: true;
      readonly estate: Estate;
      /** Returns the estate as other facts judge it, without reading anything again: the same one where it makes no difference. */
      readonly judge: (safety: Safety) => Estate;
    }
  | { readonly isTaken: false; readonly catalog: Catalog; readonly problems: readonly Problem[] };

export interface Before {
  /** What is in force. */
  readonly standing: Standing;
  /** The estate whose work may be used again; the answer does not depend on it. */
  readonly earlier?: Estate | undefined;
  /** What has a say in which deletes may happen; left out: all may. */
  readonly safety?: Safety | undefined;
  /** A person said yes to a commit after which nothing is left. */
  readonly isAccepted?: boolean;
}

/**
 * Returns the estate after a commit: each unit at its newest sound version, each object at its last right one. Mistakes
 * of the user are problems, never exceptions. docs/concepts.md, wrong commits.
 */
export function derive(snapshot: Snapshot, before: Before = { standing: EMPTY_STANDING }): Derivation {
  const { standing, earlier, safety, isAccepted = false } = before;
  const catalog = loadCatalog(snapshot, earlier?.catalog);
  const refused = [...(isAccepted ? [] : nothingLeft(catalog, standing)), ...catalog.fatal];
  if (refused.length > 0) return { isTaken: false, catalog, problems: sortProblems([...catalog.problems, ...refused]) };

  const built = { catalog, standing, blobsRead: snapshot.blobs.size, ...buildCandidates(catalog, earlier) };
  const admission = admitInstances(built.units, standing, safety);
  const estate = estateOf(built, admission);
  const judge = (now: Safety): Estate =>
    admission.holdsFor(now) ? estate : estateOf(built, admitInstances(built.units, standing, now));
  return { isTaken: true, estate, judge };
}

interface Built extends ReturnType<typeof buildCandidates> {
  readonly catalog: Catalog;
  readonly standing: Standing;
  readonly blobsRead: number;
}

/** What is in force once it is known which versions are admitted. */
function estateOf({ catalog, standing, blobsRead, ...work }: Built, instances: Admission): Estate {
  const { units: candidates, templateProblems } = work;
  const registry = registerClients(catalog, standing.clients);
  const units = new Map([...instances.units, ...clientcertsInForce({ candidates, catalog, standing, ...instances })]);
  return {
    commit: catalog.commit,
    time: catalog.time,
    catalog,
    candidates,
    templateProblems,
    units,
    owners: instances.owners,
    objects: objectsInForce(catalog, templateProblems, standing.objects),
    clients: registry.clients,
    invalid: new Set([...instances.refused].map((key) => key.slice('instance/'.length))),
    held: instances.held,
    approved: instances.approved,
    spent: instances.spent,
    problems: sortProblems([
      ...catalog.problems,
      ...[...templateProblems.values()].flat(),
      ...[...candidates.values()].flatMap((unit) => unit.problems),
      ...instances.problems,
      ...registry.problems,
    ]),
    counts: {
      blobsRead,
      filesParsed: catalog.parsed,
      instancesExpanded: work.instancesExpanded,
      recordsMerged: work.recordsMerged,
    },
  };
}

/** Hand-written clientcerts whose name no stack's server bears; a wrong one stays at the version before. */
function clientcertsInForce(now: {
  readonly candidates: ReadonlyMap<string, Unit>;
  readonly catalog: Catalog;
  readonly standing: Standing;
  readonly owners: ReadonlyMap<string, string>;
}): ReadonlyMap<string, Unit> {
  const units = new Map<string, Unit>();
  for (const address of now.catalog.objects.keys()) {
    if (!address.startsWith('clientcert/')) continue;
    if (now.owners.has(address.slice('clientcert/'.length))) continue;
    const candidate = now.candidates.get(address);
    const unit = candidate !== undefined && isSound(candidate) ? candidate : now.standing.units.get(address);
    if (unit !== undefined) units.set(address, unit);
  }
  return units;
}
