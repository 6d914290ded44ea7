// Restores the desired state that was active before this process started, from the rows and the recorded commits. It reads
// only: follow-commit.ts activates it. search-history.ts does the same where the rows are lost.

import { invariant } from '../base/invariant.ts';
import type { RunInSlices } from '../base/slices.ts';
import { type Steps, visitAll } from '../base/steps.ts';
import { isObjectPath, placePath } from '../catalog/paths.ts';
import { deriveSteps, type FollowedDerivation, proposeSteps, type Reusable } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import { buildClientcert } from '../desired/build-unit.ts';
import { type Baseline, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { isValidUnit, type Unit, unitAddress } from '../desired/unit.ts';
import { isWantedAs } from '../machine/want.ts';
import { instanceAddress, splitAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { StackInstance } from '../model/objects.ts';
import { isError } from '../model/problem.ts';
import type { HeadRow } from '../model/rows.ts';
import type { WantedServer } from '../model/spec.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Source } from '../source/source.ts';
import { HEAD } from './object-rows.ts';
import { proposeAt, readCommit } from './read-commit.ts';
import { entryOfRow, keptObjects, recordedOwners } from './recorded-baseline.ts';
import { recordedUnit } from './recorded-unit.ts';

/** The desired state that was active when the previous process ended. */
interface RestoredState {
  readonly derivation: FollowedDerivation;
  /** The versions that the rows tell of, including those that another judgement of the desired state would not want. */
  readonly baseline: Baseline;
}

/** The parts that a restored state is read with. */
interface RestoreParts {
  readonly source: Source;
  readonly ledger: Ledger;
  readonly inSlices: RunInSlices;
}

/**
 * Returns the desired state as it was when the recorded head was activated, where it was followed; or what of it is not as
 * recorded, in words: then nothing may follow from it. Throws where that commit is not here any more.
 */
export async function restoreDesired(parts: RestoreParts, safety: Safety): Promise<RestoredState | string> {
  const { source, ledger, inSlices } = parts;
  const head = ledger.read('head', HEAD);
  invariant(head !== undefined, 'there is a recorded head to restore');
  const snapshot = await readCommit(source, head.commit, { directory: head.place?.directory });
  const proposed = await inSlices(proposeSteps(snapshot, { baseline: EMPTY_BASELINE }));
  if (!proposed.isFollowed) return proposed.problems.find(isError)?.message ?? 'it is wrong';
  const pinned = ledger.list('pinned');
  const units = new Map(
    [...proposed.candidates].filter(([, unit]) => isValidUnit(unit) && !pinned.has(unitAddress(unit))),
  );
  const { hierarchy, time } = proposed.catalog;
  for (const unit of recordedUnits(ledger, time)) units.set(unitAddress(unit), unit);
  for (const unit of await olderUnits(parts, head, proposed)) units.set(unitAddress(unit), unit);
  const kept = { ...keptObjects(pinned), hasHierarchy: hierarchy.oid !== '' };
  const baseline: Baseline = { ...EMPTY_BASELINE, units, owners: recordedOwners(ledger), ...kept };
  const difference = await inSlices(differenceFromRows(baseline, ledger));
  if (difference !== undefined) return difference;
  // Errors of the recorded head were known when it was activated: the rows have what they hold.
  const known = { baseline, earlier: proposed, safety, isAccepted: true, isKnown: true };
  // All files are parsed by now, so their bytes are not needed any more.
  const restored = await inSlices(deriveSteps({ ...snapshot, blobs: new Map() }, known));
  invariant(restored.isFollowed, `the recorded head ${head.commit} was taken once, so it is right`);
  return { derivation: restored, baseline };
}

/**
 * Returns a server that these units and the rows do not want alike, in words; undefined where there is none. An activation
 * writes both at once: so another directory was read, or the rows are those of another repository.
 */
function* differenceFromRows({ units, owners }: Baseline, ledger: Ledger): Steps<string | undefined> {
  const derived = new Set<string>();
  let difference: string | undefined;
  for (const unit of units.values()) {
    yield* visitAll(unit.servers.values(), (server) => {
      derived.add(server.name);
      if (!isAsRecorded(server, ledger)) difference ??= `"${server.name}" is recorded in another way`;
    });
    yield;
  }
  const pinned = ledger.list('pinned');
  yield* visitAll(owners, ([name, key]) => {
    // Of an instance that is wrong from the start, rows may tell servers that no version of it does.
    if (!derived.has(name) && pinned.get(key)?.commit !== null) difference ??= `"${name}" is recorded besides`;
  });
  return difference;
}

function isAsRecorded(server: WantedServer, ledger: Ledger): boolean {
  const row = ledger.server(server.name);
  return row !== undefined && isWantedAs(row, server);
}

/** Returns the active version of each pinned instance and clientcert, derived from its own commit. */
async function olderUnits(parts: RestoreParts, head: HeadRow, newest: Reusable): Promise<Unit[]> {
  const { ledger } = parts;
  const units: Unit[] = [];
  const keysByCommit = new Map<string, string[]>();
  for (const [address, { commit }] of ledger.list('pinned')) {
    const [type] = splitAddress(address);
    if (commit === null || (type !== 'stack-instance' && type !== 'clientcert')) continue;
    keysByCommit.set(commit, [...(keysByCommit.get(commit) ?? []), address]);
  }
  for (const [commit, keys] of keysByCommit) {
    const older = await proposedAt(parts, { commit, keys, directory: head.place?.directory }, newest);
    if (older === undefined) continue;
    for (const key of keys) {
      const unit = older.candidates.get(key) ?? clientcertAt(older, key);
      if (unit !== undefined && isValidUnit(unit) && isRecorded(unit, ledger)) units.push(unit);
    }
  }
  return units;
}

/** Returns false for a version of another directory, which was followed when that commit was the head. */
function isRecorded(unit: Unit, ledger: Ledger): boolean {
  const isAsWanted = [...unit.servers.values()].every((server) => isAsRecorded(server, ledger));
  return isAsWanted && ledger.read('pinned', unitAddress(unit))?.oid === unit.entry.oid;
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
function clientcertAt({ catalog }: Reusable, key: string): Unit | undefined {
  const entry = catalog.objects.get(key);
  return entry === undefined ? undefined : buildClientcert([splitAddress(key)[1], entry], catalog);
}

/** What is read of an older commit. */
interface OlderUnits {
  readonly commit: string;
  readonly directory: string | undefined;
  /** Of the units that are looked for. */
  readonly keys: readonly string[];
}

/**
 * Returns what an older commit by itself proposes, without instances that are not looked for: each start reads as many of
 * them as are pinned. Undefined where it is gone, as after a rewritten history and a lost local copy.
 */
async function proposedAt(
  { source, inSlices }: RestoreParts,
  { commit, directory, keys }: OlderUnits,
  earlier: Reusable,
): Promise<Reusable | undefined> {
  if (!(await source.has(commit))) return undefined;
  const wanted = new Set(keys);
  const isRead = (path: string): boolean => {
    const placed = placePath(path, '100644');
    if (!isObjectPath(placed) || placed.type !== 'stack-instance') return true;
    return wanted.has(instanceAddress(placed.name));
  };
  return await proposeAt(source, commit, { earlier, directory, isRead, inSlices });
}
