// The pure way from a commit to the estate in force. Reconciling, the service and the command line all take it.
import type { Catalog } from './catalog/catalog.ts';
import { loadCatalog, type ParsedFiles } from './catalog/load-catalog.ts';
import { withUnreadable } from './catalog/unreadable.ts';
import { type Admission, admitInstances, type Safety } from './estate/admit.ts';
import { buildClientcerts, buildInstances, type Candidates, checkTemplates } from './estate/candidates.ts';
import { EMPTY_STANDING, type Estate, type Standing } from './estate/estate.ts';
import { knownObjects } from './estate/known-objects.ts';
import { nothingLeft } from './estate/nothing-left.ts';
import { objectsInForce } from './estate/objects-in-force.ts';
import { withoutPlainSecrets } from './estate/plain-secrets.ts';
import { registerClients } from './estate/registry.ts';
import { newlyUndetermined, undeterminedIn } from './estate/undetermined.ts';
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
  /** Files of the snapshot that were parsed beforehand; the answer does not depend on them. */
  readonly parsedFiles?: ParsedFiles | undefined;
  /** What has a say in which deletes may happen; left out: all may. */
  readonly safety?: Safety | undefined;
  /** A person said yes to a commit after which nothing is left. */
  readonly isAccepted?: boolean;
  /** The commit was taken once, so that nothing in it is new. */
  readonly isKnown?: boolean;
}

/**
 * Returns the estate after a commit: each unit at its newest sound version, each object at its last right one. Mistakes
 * of the user are problems, never exceptions. docs/concepts.md, wrong commits.
 */
export function derive(snapshot: Snapshot, before: Before = { standing: EMPTY_STANDING }): Derivation {
  const { standing, earlier, parsedFiles, safety, isAccepted = false, isKnown = false } = before;
  const loaded = withUnreadable(loadCatalog(snapshot, earlier?.catalog, parsedFiles), knownObjects(standing));
  const catalog = withoutPlainSecrets(loaded);
  const refused = [...(isAccepted ? [] : nothingLeft(catalog, standing)), ...catalog.fatal];
  if (refused.length > 0) return { isTaken: false, catalog, problems: sortProblems([...catalog.problems, ...refused]) };

  const templateProblems = checkTemplates(catalog, earlier);
  const stacks = buildInstances(catalog, templateProblems, earlier);
  const built = { catalog, standing, earlier, stacks, templateProblems, blobsRead: snapshot.blobs.size };
  const proposed = { candidates: stacks.units, catalog };
  const proposal = { ...proposed, undetermined: isKnown ? [] : newlyUndetermined(proposed, standing) };
  const admission = admitInstances(proposal, standing, safety);
  const estate = estateOf(built, admission);
  const judge = (now: Safety): Estate =>
    admission.holdsFor(now) ? estate : estateOf(built, admitInstances(proposal, standing, now));
  return { isTaken: true, estate, judge };
}

interface Built extends Pick<Estate, 'catalog' | 'templateProblems'> {
  readonly standing: Standing;
  readonly earlier: Estate | undefined;
  readonly stacks: Candidates;
  readonly blobsRead: number;
}

/** What is in force once it is known which versions are admitted. */
function estateOf(
  { catalog, standing, earlier, stacks, templateProblems, blobsRead }: Built,
  instances: Admission,
): Estate {
  const clientcerts = buildClientcerts(catalog, instances.owners, earlier);
  const candidates = new Map([...stacks.units, ...clientcerts.units]);
  const registry = registerClients(catalog, standing.clients);
  const units = new Map([...instances.units, ...soundOrStanding(clientcerts.units, standing)]);
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
    hasHierarchy: catalog.hierarchy.oid !== '',
    undetermined: undeterminedIn(stacks.units),
    places: catalog.places,
    invalid: new Set([...instances.refused].map((key) => key.slice('instance/'.length))),
    held: instances.held,
    approved: instances.approved,
    spent: instances.spent,
    unused: instances.unused,
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
      instancesExpanded: stacks.built,
      recordsMerged: stacks.recordsMerged + clientcerts.recordsMerged,
    },
  };
}

/** Hand-written clientcerts; a wrong one stays at the version before. */
function* soundOrStanding(clientcerts: ReadonlyMap<string, Unit>, { units }: Standing): Generator<[string, Unit]> {
  for (const [key, candidate] of clientcerts) {
    const unit = isSound(candidate) ? candidate : units.get(key);
    if (unit !== undefined) yield [key, unit];
  }
}
