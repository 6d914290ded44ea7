// What was in force before this process started: from the rows, and where those are lost, from the history in Git.
// Reads only; taking a commit is the follower's work.
import { wantsBlob } from '../catalog/load-catalog.ts';
import { type Before, type Derivation, derive } from '../derive.ts';
import type { Safety } from '../estate/admit.ts';
import { splitAddress } from '../estate/draw.ts';
import { EMPTY_STANDING, type Estate, type Kept, type Standing } from '../estate/estate.ts';
import { isSound, type Unit, unitKey } from '../estate/unit.ts';
import type { Entry } from '../model/entry.ts';
import { invariant } from '../model/invariant.ts';
import type { Client } from '../model/objects.ts';
import type { BehindRow } from '../model/recorded.ts';
import type { Source } from '../source/source.ts';
import { HEAD } from './estate-rows.ts';
import type { Ledger } from './ledger.ts';

/** How far back history is searched for the last right version of something whose record is lost. */
const COMMITS_MAX = 1_000;

/** Reads a commit and derives it, with the work of another estate at hand. */
export async function deriveAt(source: Source, commit: string, before: Before): Promise<Derivation> {
  return derive(await source.snapshot(commit, wantsBlob(before.earlier?.catalog)), before);
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
  for (const unit of await olderUnits(source, behind, alone.estate)) units.set(unitKey(unit), unit);
  const standing: Standing = { units, owners: recordedOwners(ledger), ...keptObjects(behind) };
  const restored = await deriveAt(source, head.commit, { standing, earlier: alone.estate, safety, isAccepted: true });
  invariant(restored.isTaken, `the recorded head ${head.commit} was taken once, so it is right`);
  return { ...restored, standing };
}

/**
 * Returns what may have been in force before `commit` where no row tells: for everything that is wrong there, its last
 * right version among the first parents. Also the newest commit that can be taken, which is `commit` itself if it can.
 */
export async function searchHistory(
  source: Source,
  commit: string,
): Promise<{ standing: Standing; head: string | null }> {
  const units = new Map<string, Unit>();
  const objects = new Map<string, Kept<unknown>>();
  let missing: ReadonlySet<string> | undefined;
  let earlier: Estate | undefined;
  let head: string | null = null;
  let next: string | undefined = commit;
  for (let depth = 0; depth < COMMITS_MAX && next !== undefined && missing?.size !== 0; depth += 1) {
    const derivation: Derivation = await deriveAt(source, next, { standing: EMPTY_STANDING, earlier });
    if (derivation.isTaken) {
      earlier = derivation.estate;
      head ??= next;
      missing = collectRight(derivation.estate, missing, { units, objects });
    }
    next = (await source.describe(next)).parents[0];
  }
  return { standing: { ...EMPTY_STANDING, units, objects }, head };
}

interface Found {
  readonly units: Map<string, Unit>;
  readonly objects: Map<string, Kept<unknown>>;
}

/** Takes what is right in an older estate and was missing until now; returns what still is. */
function collectRight(estate: Estate, missing: ReadonlySet<string> | undefined, found: Found): ReadonlySet<string> {
  const wrong = new Set(
    [...estate.candidates].filter(([key, unit]) => estate.units.get(key) !== unit).map(([key]) => key),
  );
  for (const address of estate.catalog.objects.keys()) if (!estate.objects.has(address)) wrong.add(address);
  for (const name of estate.catalog.templates.keys()) {
    if (!estate.objects.has(`stack-template/${name}`)) wrong.add(`stack-template/${name}`);
  }
  if (missing === undefined) return wrong;
  const left = new Set<string>();
  for (const key of missing) {
    const unit = estate.candidates.get(key);
    const kept = estate.objects.get(key);
    if (unit !== undefined && isSound(unit)) found.units.set(key, unit);
    if (kept !== undefined) found.objects.set(key, kept);
    if (wrong.has(key)) left.add(key);
  }
  return left;
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
    const candidates = await candidatesAt(source, commit, newest);
    for (const key of keys) {
      const unit = candidates.get(key);
      if (unit !== undefined && isSound(unit)) units.push(unit);
    }
  }
  return units;
}

/** The units of an older commit; none where that commit is gone, as after a rewritten history and a lost local copy. */
async function candidatesAt(source: Source, commit: string, newest: Estate): Promise<ReadonlyMap<string, Unit>> {
  try {
    const derivation = await deriveAt(source, commit, { standing: EMPTY_STANDING, earlier: newest });
    return derivation.isTaken ? derivation.estate.candidates : new Map();
  } catch (error) {
    if (error instanceof Error && error.name === 'SourceError') return new Map();
    throw error;
  }
}

function recordedOwners(ledger: Ledger): ReadonlyMap<string, string> {
  const wanted = [...ledger.list('server')].filter(([, row]) => row.wanted !== null);
  return new Map(wanted.map(([name, { instance }]) => [name, unitKey({ kind: 'instance', name: instance })]));
}

/** Objects and clients that are behind, out of the documents that were recorded with them. */
function keptObjects(behind: ReadonlyMap<string, BehindRow>): Pick<Standing, 'objects' | 'clients'> {
  const objects = new Map<string, Kept<unknown>>();
  const clients = new Map<string, Kept<Client>>();
  for (const [address, row] of behind) {
    const { commit } = row;
    const [type, name] = splitAddress(address);
    if (commit === null || type === 'stack-instance') continue;
    if (type === 'client') clients.set(name, { entry: entryOf(row) as Entry<Client>, commit });
    else objects.set(address, { entry: entryOf(row), commit });
  }
  return { objects, clients };
}

/** An entry out of a recorded document. Nobody asks for places in it: its text is not what Git has now. */
function entryOf({ path, oid, object }: BehindRow): Entry<unknown> {
  return { path, oid, object, problems: [], locate: () => ({ line: 1, column: 1 }) };
}

function addressOf({ kind, name }: Unit): string {
  return kind === 'instance' ? `stack-instance/${name}` : `clientcert/${name}`;
}
