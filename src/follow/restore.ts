// Restores the desired state that was active before this process started, from the rows and the recorded commits. It reads
// only: follow-commit.ts activates it. search-history.ts does the same where the rows are lost.

import { NO_FILES, type ParsedFiles, wantsBlob } from '../catalog/load-catalog.ts';
import { systemClock } from '../clock.ts';
import { type Before, type Derivation, deriveSteps, proposeSteps, type Reusable } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import { buildClientcert } from '../desired/build-unit.ts';
import { type Baseline, type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { isValidUnit, type Unit, unitAddress } from '../desired/unit.ts';
import { splitAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import { invariant } from '../model/invariant.ts';
import type { StackInstance } from '../model/objects.ts';
import type { PinnedRow } from '../model/rows.ts';
import type { Snapshot } from '../model/snapshot.ts';
import type { Steps } from '../model/steps.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { createSlices, type RunInSlices } from '../slices.ts';
import type { Source } from '../source/source.ts';
import { HEAD } from './object-rows.ts';
import { parseAhead } from './parse-ahead.ts';
import { entryOfRow, keptObjects, recordedOwners } from './recorded-baseline.ts';
import { recordedUnit } from './recorded-unit.ts';

interface ReadOptions extends Before {
  /** Left out: slices by the machine's clock. */
  readonly inSlices?: RunInSlices | undefined;
}

/** Reads a commit and derives it, reusing the work of another desired state. It yields to other work again and again. */
export async function deriveAt(
  source: Pick<Source, 'snapshot'>,
  commit: string,
  { inSlices = createSlices(systemClock), ...before }: ReadOptions,
): Promise<Derivation> {
  const { snapshot, parsedFiles } = await readAt(source, commit, before);
  return await inSlices(deriveSteps(snapshot, { ...before, parsedFiles }));
}

/** A commit that was read. */
interface ReadCommit {
  readonly snapshot: Snapshot;
  /** Its files, but for those that the catalog of `earlier` has. */
  readonly parsedFiles: ParsedFiles;
}

/** Reads the files of a commit that are not parsed yet, and parses them. */
async function readAt(
  source: Pick<Source, 'snapshot'>,
  commit: string,
  { earlier, parsedFiles = NO_FILES }: Pick<Before, 'earlier' | 'parsedFiles'> = {},
): Promise<ReadCommit> {
  const previous = earlier?.catalog;
  const snapshot = await source.snapshot(commit, wantsBlob(previous, parsedFiles));
  const parsed = await parseAhead(snapshot, previous);
  return { snapshot, parsedFiles: new Map([...parsedFiles, ...parsed]) };
}

/** The desired state that was active when the previous process ended. */
interface RestoredState {
  readonly desired: DesiredState;
  /** See Derivation. */
  readonly judge: (safety: Safety) => Steps<DesiredState>;
  /** The versions that the rows tell of, including those that another judgement of the desired state would not want. */
  readonly baseline: Baseline;
}

/** The parts that a restored state is read with. */
interface RestoreParts {
  readonly source: Source;
  readonly ledger: Ledger;
  readonly inSlices: RunInSlices;
}

/** Returns the desired state as it was when the recorded head was activated. Throws where that commit is not here any more. */
export async function restoreDesired(parts: RestoreParts, safety: Safety): Promise<RestoredState> {
  const { source, ledger, inSlices } = parts;
  const head = ledger.read('head', HEAD);
  invariant(head !== undefined, 'there is a recorded head to restore');
  const { snapshot, parsedFiles } = await readAt(source, head.commit);
  const proposed = await inSlices(proposeSteps(snapshot, { baseline: EMPTY_BASELINE, parsedFiles }));
  invariant(proposed.isFollowed, `the recorded head ${head.commit} was taken once, so it is right`);
  const pinned = ledger.list('pinned');
  const units = new Map(
    [...proposed.candidates].filter(([, unit]) => isValidUnit(unit) && !pinned.has(unitAddress(unit))),
  );
  const { hierarchy, time } = proposed.catalog;
  for (const unit of recordedUnits(ledger, time)) units.set(unitAddress(unit), unit);
  for (const unit of await olderUnits(parts, pinned, proposed)) units.set(unitAddress(unit), unit);
  const kept = { ...keptObjects(pinned), hasHierarchy: hierarchy.oid !== '' };
  const baseline: Baseline = { ...EMPTY_BASELINE, units, owners: recordedOwners(ledger), ...kept };
  // Errors of the recorded head were known when it was activated: the rows have what they hold.
  const known = { baseline, earlier: proposed, safety, isAccepted: true, isKnown: true };
  // All files are parsed by now, so their bytes are not needed any more.
  const restored = await inSlices(deriveSteps({ ...snapshot, blobs: new Map() }, known));
  invariant(restored.isFollowed, `the recorded head ${head.commit} was taken once, so it is right`);
  return { ...restored, baseline };
}

/** Returns the active version of each pinned instance and clientcert, derived from its own commit. */
async function olderUnits(
  parts: RestoreParts,
  pinned: ReadonlyMap<string, PinnedRow>,
  newest: Reusable,
): Promise<Unit[]> {
  const units: Unit[] = [];
  const keysByCommit = new Map<string, string[]>();
  for (const [address, { commit }] of pinned) {
    const [type] = splitAddress(address);
    if (commit === null || (type !== 'stack-instance' && type !== 'clientcert')) continue;
    keysByCommit.set(commit, [...(keysByCommit.get(commit) ?? []), address]);
  }
  for (const [commit, keys] of keysByCommit) {
    const older = await desiredAt(parts, commit, newest);
    if (older === undefined) continue;
    for (const key of keys) {
      const unit = older.candidates.get(key) ?? clientcertAt(older, key);
      if (unit !== undefined && isValidUnit(unit)) units.push(unit);
    }
  }
  return units;
}

/** Returns each pinned instance as its rows tell it, for where the commit of its active version is gone. */
function recordedUnits(ledger: Ledger, time: string): Unit[] {
  return [...ledger.list('pinned')].flatMap(([address, row]) => {
    const [type, name] = splitAddress(address);
    if (row.commit === null || type !== 'stack-instance') return [];
    return [recordedUnit(ledger, { name, entry: entryOfRow(row) as Entry<StackInstance>, commit: row.commit, time })];
  });
}

/** A clientcert that by itself an older commit would not take for a hand-written one: another stack made its name then. */
function clientcertAt({ catalog }: DesiredState, key: string): Unit | undefined {
  const entry = catalog.objects.get(key);
  return entry === undefined ? undefined : buildClientcert([splitAddress(key)[1], entry], catalog);
}

/** An older commit by itself; undefined where it is gone, as after a rewritten history and a lost local copy. */
async function desiredAt(
  { source, inSlices }: RestoreParts,
  commit: string,
  newest: Reusable,
): Promise<DesiredState | undefined> {
  if (!(await source.has(commit))) return undefined;
  const derivation = await deriveAt(source, commit, { baseline: EMPTY_BASELINE, earlier: newest, inSlices });
  return derivation.isFollowed ? derivation.desired : undefined;
}
