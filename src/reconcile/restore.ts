// What was in force before this process started, from the rows; where those are lost, see search-history.ts.
// Reads only; taking a commit is the follower's work.
import { wantsBlob } from '../catalog/load-catalog.ts';
import { type Before, type Derivation, derive } from '../derive.ts';
import type { Safety } from '../estate/admit.ts';
import { buildClientcert } from '../estate/build-unit.ts';
import { splitAddress } from '../estate/draw.ts';
import { EMPTY_STANDING, type Estate, type Standing } from '../estate/estate.ts';
import { isSound, type Unit, unitKey } from '../estate/unit.ts';
import type { Entry } from '../model/entry.ts';
import { invariant } from '../model/invariant.ts';
import type { StackInstance } from '../model/objects.ts';
import type { BehindRow } from '../model/recorded.ts';
import type { Source } from '../source/source.ts';
import { HEAD } from './estate-rows.ts';
import type { Ledger } from './ledger.ts';
import { parseInTurns } from './parse-in-turns.ts';
import { entryOf, keptObjects, recordedOwners } from './recorded-standing.ts';
import { recordedUnit } from './recorded-unit.ts';

/** Reads a commit and derives it, with the work of another estate at hand. Other work gets its turn while files are parsed. */
export async function deriveAt(source: Source, commit: string, before: Before): Promise<Derivation> {
  const previous = before.earlier?.catalog;
  const snapshot = await source.snapshot(commit, wantsBlob(previous, before.parsedFiles));
  const parsed = await parseInTurns(snapshot, previous);
  return derive(snapshot, { ...before, parsedFiles: new Map([...(before.parsedFiles ?? []), ...parsed]) });
}

/** What was in force when the process before this one ended. */
export interface Restored {
  readonly estate: Estate;
  /** See Derivation. */
  readonly judge: (safety: Safety) => Estate;
  /** The versions that the rows tell of, among them what is not wanted any more if the estate is judged in another way. */
  readonly standing: Standing;
}

/** Returns the estate as it was when the recorded head was taken. Throws where that commit is not here any more. */
export async function restoreEstate(source: Source, ledger: Ledger, safety: Safety): Promise<Restored> {
  const head = ledger.read('head', HEAD);
  invariant(head !== undefined, 'there is a recorded head to restore');
  const alone = await deriveAt(source, head.commit, { standing: EMPTY_STANDING });
  invariant(alone.isTaken, `the recorded head ${head.commit} was taken once, so it is right`);
  const behind = ledger.list('behind');
  const units = new Map(
    [...alone.estate.candidates].filter(([, unit]) => isSound(unit) && !behind.has(addressOf(unit))),
  );
  for (const unit of recordedUnits(ledger, alone.estate)) units.set(unitKey(unit), unit);
  for (const unit of await olderUnits(source, behind, alone.estate)) units.set(unitKey(unit), unit);
  const { hasHierarchy } = alone.estate;
  const kept = keptObjects(behind);
  const standing: Standing = { ...EMPTY_STANDING, units, owners: recordedOwners(ledger), ...kept, hasHierarchy };
  // What was wrong in the recorded head was known when that was taken: what it holds is in the rows.
  const known = { standing, earlier: alone.estate, safety, isAccepted: true, isKnown: true };
  const restored = await deriveAt(source, head.commit, known);
  invariant(restored.isTaken, `the recorded head ${head.commit} was taken once, so it is right`);
  return { ...restored, standing };
}

/** The older version of each instance and clientcert that is behind, derived from its own commit. */
async function olderUnits(source: Source, behind: ReadonlyMap<string, BehindRow>, newest: Estate): Promise<Unit[]> {
  const units: Unit[] = [];
  const keysByCommit = new Map<string, string[]>();
  for (const [address, { commit }] of behind) {
    const [type, name] = splitAddress(address);
    if (commit === null || (type !== 'stack-instance' && type !== 'clientcert')) continue;
    const key = unitKey({ kind: type === 'clientcert' ? 'clientcert' : 'instance', name });
    keysByCommit.set(commit, [...(keysByCommit.get(commit) ?? []), key]);
  }
  for (const [commit, keys] of keysByCommit) {
    const older = await estateAt(source, commit, newest);
    if (older === undefined) continue;
    for (const key of keys) {
      const unit = older.candidates.get(key) ?? clientcertAt(older, key);
      if (unit !== undefined && isSound(unit)) units.push(unit);
    }
  }
  return units;
}

/** What the rows tell of each instance that is behind: it stands where the commit of its version in force is gone. */
function recordedUnits(ledger: Ledger, { time }: Estate): Unit[] {
  return [...ledger.list('behind')].flatMap(([address, row]) => {
    const [type, name] = splitAddress(address);
    if (row.commit === null || type !== 'stack-instance') return [];
    return [recordedUnit(ledger, { name, entry: entryOf(row) as Entry<StackInstance>, commit: row.commit, time })];
  });
}

/** A clientcert that by itself an older commit would not take for a hand-written one: another stack made its name then. */
function clientcertAt({ catalog }: Estate, key: string): Unit | undefined {
  const entry = catalog.objects.get(key);
  return entry === undefined ? undefined : buildClientcert([splitAddress(key)[1], entry], catalog);
}

/** An older commit by itself; undefined where it is gone, as after a rewritten history and a lost local copy. */
async function estateAt(source: Source, commit: string, newest: Estate): Promise<Estate | undefined> {
  if (!(await source.has(commit))) return undefined;
  const derivation = await deriveAt(source, commit, { standing: EMPTY_STANDING, earlier: newest });
  return derivation.isTaken ? derivation.estate : undefined;
}

function addressOf({ kind, name }: Unit): string {
  return kind === 'instance' ? `stack-instance/${name}` : `clientcert/${name}`;
}
