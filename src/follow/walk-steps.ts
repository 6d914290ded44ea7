// Derives and judges the steps of the branch, one after the other, each upon what the ones before it have made of the desired
// state and of a draft of the rows. Writes nothing.

import type { Breathe } from '../base/breathe.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { ParsedFiles } from '../catalog/load-catalog.ts';
import { judge, type RefusedDerivation } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import type { Baseline, DesiredState } from '../desired/desired-state.ts';
import { nothingLeftDigest } from '../machine/hold-digests.ts';
import type { Change, FollowedPlace } from '../model/rows.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { afterRefused, type CommitStep, type DerivedStep, type FollowedStep } from './commit-steps.ts';
import type { CurrentState } from './current-state.ts';
import { DraftRows, type RowView } from './draft-rows.ts';
import { guardedServers } from './merge-guards.ts';
import { HEAD } from './object-rows.ts';
import type { CommitReader, ReadAhead } from './read-ahead.ts';
import { deriveAt } from './read-commit.ts';
import { approvedCountOf, readSafety } from './safety.ts';
import { syncChanges } from './sync.ts';

/** The parts by which steps are derived and judged. */
export interface StepParts {
  readonly ledger: Ledger;
  readonly current: CurrentState;
  readonly clock: Clock;
  readonly breathe: Breathe;
  readonly deleteBudget: DeleteBudget;
}

/** How the steps of one poll are read. */
export interface StepReading {
  /** They continue what is followed. */
  readonly isNext: boolean;
  /** The repository, branch and directory that are followed. */
  readonly place: FollowedPlace;
  /** Files that the commits will bring, parsed already. */
  readonly parsedFiles: ParsedFiles;
}

/** The state that a step is derived upon. */
interface StepBase {
  readonly baseline: Baseline;
  /** The desired state to reuse; undefined: none. */
  readonly earlier: DesiredState | undefined;
  readonly rows: RowView;
}

/** A step that is not followed. */
interface RefusedStep {
  readonly step: CommitStep;
  readonly derivation: RefusedDerivation;
}

/** The steps that are walked together. */
export interface Walk extends StepReading {
  readonly reads: ReadAhead;
  readonly log: Pick<Logger, 'debug'>;
  /** The newest commit of the branch, if it is known. */
  readonly newest: string | undefined;
  /** The desired state that is active, and the versions that are. */
  readonly before: DesiredState | undefined;
  readonly baseline: Baseline;
  /** The first step, derived upon these. */
  readonly first: FollowedStep;
}

/** The desired state of the last step that is followed. */
export interface Walked {
  readonly desired: DesiredState;
  /** All changes of rows up to it; undefined for a single step, which has only its own. */
  readonly changes: readonly Change[] | undefined;
  /** The last of all steps, if it is not followed. */
  readonly refused: RefusedStep | undefined;
}

/** The message of the log for a commit that comes together with later ones. */
const ON_THE_WAY = 'commit taken on the way';
const NO_GUARDS: FollowedStep['guarded'] = new Map();

/** Reads a step where its commit is to be read, and derives it. */
export async function deriveStep(
  parts: StepParts,
  step: CommitStep,
  base: StepBase,
  { isNext, place: { directory }, parsedFiles, reader }: StepReading & { readonly reader: CommitReader },
): Promise<DerivedStep> {
  const { current, ledger, breathe } = parts;
  const { baseline, earlier, rows } = base;
  const { oid } = step.commit;
  const derivation = await deriveAt(reader, oid, {
    ...{ baseline, earlier, directory, parsedFiles, breathe },
    // What is followed was accepted once.
    isAccepted: (isNext && oid === current.get()?.commit) || isApproved(ledger, nothingLeftDigest(oid)),
    addedSince: (order) => reader.added({ ...order, to: oid, directory }),
    safety: stepSafety(parts, step, { rows, guarded: NO_GUARDS }),
  });
  if (!derivation.isFollowed) return derivation;
  const guarded = await guardedServers(reader, step.others, derivation.desired, { baseline, directory, breathe });
  return { ...derivation, guarded };
}

/** Returns true if a person has approved what a digest stands for. */
export function isApproved(ledger: Pick<Ledger, 'read'>, digest: string): boolean {
  return ledger.read('approval', digest) !== undefined;
}

/** Judges a step by the rows as they are. */
async function judgeStep(
  parts: StepParts,
  step: CommitStep,
  derived: FollowedStep,
  rows: RowView,
): Promise<DesiredState> {
  return judge(derived, stepSafety(parts, step, { rows, guarded: derived.guarded }));
}

function stepSafety(
  { ledger, deleteBudget, clock }: StepParts,
  { brought }: CommitStep,
  { rows, guarded }: { readonly rows: RowView; readonly guarded: FollowedStep['guarded'] },
): Safety {
  // The numbers of trailers are for servers of which a store that is behind may know nothing.
  const approvedCount = ledger.read('head', HEAD)?.isBehind === true ? 0 : approvedCountOf(brought);
  const safety = readSafety(rows, { budget: deleteBudget, now: clock.now(), approvedCount });
  return { ...safety, deletions: { ...safety.deletions, guarded } };
}

/**
 * Walks the steps before the exclusive section, by the rows as they are now: only so that what they need is read. Returns how
 * many of them were walked: where they become too much to be kept, not all, but at least one.
 */
export async function walkAhead(parts: StepParts, steps: readonly CommitStep[], walk: Walk): Promise<number> {
  return steps.length === 1 ? 1 : (await playSteps(parts, steps, walk, { isAhead: true })).count;
}

/**
 * Walks the steps and judges each. Rows name the last one as the commit that changed them: where it is not followed, those
 * that are followed are walked again. Runs in an exclusive section, and reads nothing that was not read ahead.
 */
export async function walkSteps(parts: StepParts, steps: readonly CommitStep[], walk: Walk): Promise<Walked> {
  const { ledger } = parts;
  const [first, second] = steps;
  if (first !== undefined && second === undefined) {
    const desired = await judgeStep(parts, first, walk.first, ledger);
    return { desired, changes: undefined, refused: undefined };
  }
  const { rows, now, as, desired, followed, refused } = await playSteps(parts, steps, walk, { isAhead: false });
  if (refused !== undefined) return { ...(await walkSteps(parts, steps.slice(0, followed + 1), walk)), refused };
  const sum = { desired, before: walk.before, newest: walk.newest, now, as };
  return { desired, changes: rows.changes(sum), refused };
}

interface Played extends Omit<Walked, 'changes'> {
  /** The rows that the steps make. */
  readonly rows: DraftRows;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The commit that changed rows name. */
  readonly as: Pick<DesiredState, 'commit' | 'time'>;
  /** The index of the last step that is followed. */
  readonly followed: number;
  /** How many steps were walked. */
  readonly count: number;
}

/** Walks two steps or more, each upon what the ones before it have made of a draft of the rows. */
async function playSteps(
  parts: StepParts,
  steps: readonly CommitStep[],
  walk: Walk,
  { isAhead }: { readonly isAhead: boolean },
): Promise<Played> {
  const { ledger, breathe, clock } = parts;
  const { newest, place, reads, log } = walk;
  const now = clock.now();
  const last = (steps.at(-1) as CommitStep).commit;
  const rows = new DraftRows(ledger);
  rows.fill();
  const as = { commit: last.oid, time: last.time };
  let { desired } = walk.first;
  let [followed, count] = [0, 0];
  let refused: RefusedStep | undefined;
  for (const [index, one] of steps.entries()) {
    if (isAhead && index > 0 && reads.isFull) break;
    count += 1;
    const step: CommitStep = refused === undefined ? one : afterRefused(one, refused.step);
    const derived = index === 0 ? walk.first : await deriveUpon(parts, step, { desired, rows }, walk);
    refused = derived.isFollowed ? undefined : { step, derivation: derived };
    if (!derived.isFollowed) continue;
    const [before, baseline] = index === 0 ? [walk.before, walk.baseline] : [desired, desired];
    desired = await judgeStep(parts, step, derived, rows);
    const sync = { desired, place, before, last: baseline, newest, now, as };
    rows.apply(await syncChanges(rows, { ...sync, breathe }));
    const { commit, invalid, held } = desired;
    if (!isAhead) log.debug({ commit, invalid: [...invalid], held: [...held.keys()] }, ON_THE_WAY);
    followed = index;
  }
  return { rows, now, as, desired, followed, refused, count };
}

/** Derives a step upon the desired state before it, once. */
async function deriveUpon(
  parts: StepParts,
  step: CommitStep,
  { desired, rows }: { readonly desired: DesiredState; readonly rows: RowView },
  { reads, ...reading }: Walk,
): Promise<DerivedStep> {
  const { oid } = step.commit;
  const base = { baseline: desired, earlier: desired, rows };
  return await reads.derived(`${oid} ${isApproved(parts.ledger, nothingLeftDigest(oid))}`, desired, () =>
    deriveStep(parts, step, base, { ...reading, reader: reads }),
  );
}
