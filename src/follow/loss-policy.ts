// Reads the commits between the followed one and the newest, for the protection and retention of instances that lose
// servers; see desired/loss-policy.ts. Usually there are none, and nothing is read.
import type { Breathe } from '../base/breathe.ts';
import { loadCatalog } from '../catalog/load-catalog.ts';
import { proposeInTurns, type Reusable } from '../derive.ts';
import type { Baseline, DesiredState, LossPolicies } from '../desired/desired-state.ts';
import { type LossSearch, policiesOf, proposedBy, searchesFor } from '../desired/loss-policy.ts';
import { nameAt } from '../model/address.ts';
import { orContentError } from '../model/snapshot.ts';
import type { Source } from '../repository/source.ts';
import { readCommit } from './read-commit.ts';

/** The most commits before the newest one that are searched. */
export const SEARCHED_MAX = 100;

const TOO_MANY =
  `more than ${SEARCHED_MAX} commits came at once, and none of the newest has all servers of this instance, ` +
  'so it is not known whether one before protects or retains them';
const ELSEWHERE =
  'the history was accepted without the commits in between, so an earlier commit may protect or retain these servers';

interface SearchParts {
  readonly source: Pick<Source, 'snapshot'>;
  readonly breathe: Breathe;
  /** Omitted: the followed directory. */
  readonly directory?: string | undefined;
}

/** A commit that may remove servers. */
export interface LosingCommit extends Reusable {
  readonly baseline: Baseline;
  /** The desired state of the followed commit, if any. */
  readonly followed: DesiredState | undefined;
  /**
   * The commits of the branch between the followed one and this one, newest first; undefined if this commit does not
   * descend from the followed one.
   */
  readonly between: readonly string[] | undefined;
}

/** Returns the policies of the instances from which a commit removes servers. */
export async function findLosses(parts: SearchParts, commit: LosingCommit): Promise<LossPolicies> {
  const { candidates, baseline, followed, between } = commit;
  const searches = searchesFor(candidates, baseline);
  if (between === undefined) addUnknown(searches, ELSEWHERE);
  let earlier: Reusable = commit;
  for (const oid of between?.slice(0, SEARCHED_MAX) ?? []) {
    if ([...searches.values()].every(({ isEnded }) => isEnded)) break;
    earlier = await searchCommit(parts, oid, { searches, baseline, earlier });
  }
  if ((between?.length ?? 0) > SEARCHED_MAX) addUnknown(searches, TOO_MANY);
  return policiesOf(searches, baseline, followed);
}

type Searches = ReadonlyMap<string, LossSearch>;

function addUnknown(searches: Searches, reason: string): void {
  for (const search of searches.values()) if (!search.isEnded) search.addUnknown(reason);
}

interface Searched {
  readonly searches: Searches;
  readonly baseline: Baseline;
  readonly earlier: Reusable;
}

/** Adds the versions of one commit. Returns a derivation that the next one can reuse. */
async function searchCommit(
  { source, breathe, directory }: SearchParts,
  oid: string,
  { searches, baseline, earlier }: Searched,
): Promise<Reusable> {
  const open = [...searches].filter(([, { isEnded }]) => !isEnded);
  const snapshot = await orContentError(readCommit(source, oid, { earlier, directory }));
  if (snapshot instanceof Error) {
    for (const [, search] of open) search.addInvalid(undefined);
    return earlier;
  }
  const proposed = await proposeInTurns(snapshot, { baseline, earlier, isAccepted: true }, breathe);
  if (proposed.isFollowed) {
    const commit = proposedBy(proposed.candidates);
    for (const [, search] of open) search.add(commit);
    return proposed;
  }
  const { instances } = loadCatalog(snapshot, earlier.catalog);
  for (const [key, search] of open) {
    const entry = instances.get(nameAt(key));
    if (entry !== undefined) search.addInvalid(entry.object === null ? undefined : { entry });
  }
  return earlier;
}
