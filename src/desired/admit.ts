// Admits the newest valid version of each instance that is compatible with all others, within the limits for deletes
// and capacity. An instance that is not admitted stays whole at its active version, or is excluded. No unit is computed
// from files of two commits.

import { instanceAddress, nameAt } from '../model/address.ts';
import type { Problem } from '../model/problem.ts';
import { Admission, type AdmissionInput, type AdmittedSet } from './admission.ts';
import { type Consequences, type DeleteJudgement, type DeletionFacts, judgeDeletions } from './deletions.ts';
import type { Baseline, LossPolicies } from './desired-state.ts';
import { capacityRefusals, noCapacity } from './store-capacity.ts';
import type { Refusal, Unit } from './unit.ts';
import type { Versions } from './versions.ts';

/** The active instances, the problems of those that are pinned, and the judgement of deletes. */
export interface AdmittedInstances extends AdmittedSet {
  /** Servers that have to be gone before one of the refused versions can become active. */
  readonly awaited: ReadonlySet<string>;
  readonly problems: readonly Problem[];
  readonly held: DeleteJudgement['held'];
  readonly approved: DeleteJudgement['approved'];
  readonly spent: DeleteJudgement['spent'];
  readonly unused: DeleteJudgement['unused'];
}

/** The facts that limit which deletes may happen; without them, all may. */
export interface Safety {
  readonly deletions: DeletionFacts;
  /** The policies of instances that lose servers; omitted: those of their active versions. */
  readonly losses?: LossPolicies;
  /** Servers that no commit wants and that still have a row; none if omitted. */
  readonly unwanted?: ReadonlySet<string>;
}

/** The judgement at the activation of a commit, as recorded in the rows. */
export interface RecordedJudgement extends Pick<Safety, 'unwanted'> {
  readonly losses: LossPolicies;
  /** The instances that are held whole, by name. */
  readonly held: DeleteJudgement['held'];
  /** Keys of the other instances that are not at their newest version, for any reason. */
  readonly pinned: ReadonlySet<string>;
}

/** The versions that a commit proposes. */
export interface Proposal {
  /** All instances, valid or not, by unit key. */
  readonly candidates: ReadonlyMap<string, Unit>;
  /** See Consequences. */
  readonly receiversOf: Consequences['receiversOf'];
}

/** Returns the active instances after this commit. */
export function admitInstances(
  { candidates, receiversOf }: Proposal,
  baseline: Baseline,
  safety?: Safety,
): AdmittedInstances {
  const waiting = new Set<string>();
  const unwanted = safety?.unwanted ?? NONE;
  const losses = safety && (safety.losses ?? NO_LOSSES);
  const capacity = (versions: Versions): readonly Refusal[] =>
    capacityRefusals(versions.all(), { baseline, unwanted: unwanted.size });
  const input = { candidates, baseline, waiting, unwanted, losses, capacity };
  const first = attempt(input);
  if (safety === undefined) return { ...first.admitted, ...UNJUDGED };
  const removed = new Map(first.admission.losses());
  const holdOf = (instance: string): string | undefined => losses?.get(instanceAddress(instance))?.hold;
  for (let settled = first; ; ) {
    const { admission, admitted } = settled;
    // A waiting instance is judged by its newest version, all others by their admitted version. So an instance that is
    // pinned because of a waiting one does not want its removed servers back.
    const versionsFor = (instance: string): Admission =>
      waiting.has(instanceAddress(instance)) ? first.admission : admission;
    const judgement = judgeDeletions({ removed, versionsFor, holdOf, receiversOf }, safety.deletions);
    const more = [...judgement.held.keys()].filter((name) => !admission.isPinned(name));
    // Each iteration holds at least one more instance, so there are at most as many iterations as instances.
    if (more.length === 0) return { ...admitted, ...judgement };
    for (const name of more) waiting.add(instanceAddress(name));
    settled = attempt(input);
    // Held instances keep their servers, so a version that needs one may be admitted now, and lose servers that are not
    // judged yet.
    for (const [instance, servers] of settled.admission.losses())
      removed.set(instance, removed.get(instance) ?? servers);
  }
}

/**
 * Returns the active instances of a commit that was activated before. `baseline` comes from the rows. The facts of that
 * time, such as recent deletes, no longer exist, so the recorded judgement is used.
 */
export function admitAsRecorded(
  { candidates }: Pick<Proposal, 'candidates'>,
  baseline: Baseline,
  recorded: RecordedJudgement,
): AdmittedInstances {
  const waiting = new Set<string>();
  const { unwanted = NONE, losses } = recorded;
  // Pinned instances that other refusals and holds do not explain were refused for lack of capacity, so these come
  // last.
  for (let pinned = NONE; ; ) {
    const capacity = ({ newest }: Versions): readonly Refusal[] =>
      [...newest].flatMap(([key, unit]) => (pinned.has(key) ? [noCapacity(key, unit)] : []));
    const { admission, admitted } = attempt({ candidates, baseline, waiting, unwanted, losses, capacity });
    const isPinned = (name: string): boolean => admission.isPinned(name);
    const more = [...recorded.held.keys()].filter((name) => !isPinned(name));
    for (const name of more) waiting.add(instanceAddress(name));
    if (more.length > 0) continue;
    if (pinned === recorded.pinned || [...recorded.pinned].map(nameAt).every(isPinned))
      return { ...admitted, ...UNJUDGED, held: recorded.held };
    pinned = recorded.pinned;
  }
}

const NONE: ReadonlySet<string> = new Set();
const NO_LOSSES: LossPolicies = new Map();
/** The judgement of deletes without limits. */
const UNJUDGED = { held: new Map(), approved: NONE, spent: NONE, unused: NONE };

interface Attempt {
  readonly admission: Admission;
  readonly admitted: Pick<AdmittedInstances, keyof AdmittedSet | 'problems' | 'awaited'>;
}

function attempt(input: AdmissionInput): Attempt {
  const admission = new Admission(input);
  const { problems, awaited } = admission;
  return { admission, admitted: { ...admission.result(), problems, awaited } };
}
