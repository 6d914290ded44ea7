// Restores the desired state that was active before this process started, from the rows and the recorded commits. It reads
// only: follow-commit.ts activates it. search-history.ts does the same where the rows are lost. Where no copy of the repository
// has the recorded head any more, the baseline is built from the rows alone: it has no records, and no objects but the pinned
// ones.
import { invariant } from '../base/invariant.ts';
import type { RunInSlices } from '../base/slices.ts';
import { type Steps, visitAll } from '../base/steps.ts';
import { isObjectPath, placePath } from '../catalog/paths.ts';
import { deriveSteps, type FollowedDerivation, proposeSteps, type Reusable } from '../derive.ts';
import type { Safety } from '../desired/admit.ts';
import { buildClientcert } from '../desired/build-unit.ts';
import { type ActiveVersion, type Baseline, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { isValidUnit, type Unit, unitAddress, unitOfServers } from '../desired/unit.ts';
import { isWantedAs } from '../machine/want.ts';
import { instanceAddress, splitAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { Client, StackInstance } from '../model/objects.ts';
import { isError } from '../model/problem.ts';
import type { Document, HeadRow, PinnedRow } from '../model/rows.ts';
import type { WantedServer } from '../model/spec.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Source } from '../repository/source.ts';
import { HEAD } from './object-rows.ts';
import { proposeAt, readCommit } from './read-commit.ts';

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

type LedgerReads = Pick<Ledger, 'list' | 'read' | 'server' | 'index'>;

/** Returns what was active. An instance whose file is in no row is protected and retained as its servers' rows say. */
export function recordedBaseline(ledger: LedgerReads, { commit, time }: HeadRow): Baseline {
  const { objects, clients: clientsPinned } = keptObjects(ledger.list('pinned'));
  const units = [...recordedInstances(ledger)].map((name) => {
    const address = instanceAddress(name);
    const pinned = ledger.read('pinned', address);
    const document = ledger.read('active', address) ?? pinned ?? documentOfRows(ledger, name);
    const entry = entryOfRow(document) as Entry<StackInstance>;
    return recordedUnit(ledger, { name, entry, commit: pinned?.commit ?? commit, time });
  });
  const clients = new Map<string, ActiveVersion<Client>>();
  for (const [address, document] of ledger.list('active')) {
    const [type, serial] = splitAddress(address);
    if (type !== 'client') continue;
    clients.set(serial, clientsPinned.get(serial) ?? { entry: entryOfRow(document) as Entry<Client>, commit });
  }
  return {
    ...EMPTY_BASELINE,
    units: new Map(units.map((unit) => [unitAddress(unit), unit])),
    owners: recordedOwners(ledger),
    objects,
    clients,
    // Where the new head has one that cannot be read, the safe answer is that it was there.
    hasHierarchy: true,
  };
}

/** Returns, for every wanted server, the address of the unit that makes it. */
function recordedOwners(ledger: Pick<Ledger, 'list'>): ReadonlyMap<string, string> {
  const wanted = [...ledger.list('server')].filter(([, row]) => row.wanted !== null);
  return new Map(wanted.map(([name, { instance }]) => [name, instanceAddress(instance)]));
}

/** Returns the pinned objects and clients, from the documents that were recorded with them. */
function keptObjects(pinned: ReadonlyMap<string, PinnedRow>): Pick<Baseline, 'objects' | 'clients'> {
  const objects = new Map<string, ActiveVersion<unknown>>();
  const clients = new Map<string, ActiveVersion<Client>>();
  for (const [address, row] of pinned) {
    const { commit } = row;
    const [type, name] = splitAddress(address);
    if (commit === null || type === 'stack-instance') continue;
    if (type === 'client') clients.set(name, { entry: entryOfRow(row) as Entry<Client>, commit });
    else objects.set(address, { entry: entryOfRow(row), commit });
  }
  return { objects, clients };
}

/** Returns an entry out of a recorded document. It has no places: its text is not what Git has now. */
function entryOfRow({ path, oid, object }: Document): Entry<unknown> {
  return { path, oid, object, problems: [], locate: () => ({ line: 1, column: 1 }) };
}

/** All that are active, and all of which a commit wanted servers. */
function recordedInstances(ledger: LedgerReads): ReadonlySet<string> {
  const names = new Set<string>();
  for (const address of ledger.list('active').keys()) {
    const [type, name] = splitAddress(address);
    if (type === 'stack-instance') names.add(name);
  }
  for (const { instance, wanted } of ledger.list('server').values()) if (wanted !== null) names.add(instance);
  return names;
}

/** The rows of an older version hold no file: what keeps servers from being deleted is in the servers' own rows. */
function documentOfRows(ledger: LedgerReads, name: string): Document {
  const policies = ledger.index.serversOf(name).flatMap((server) => ledger.server(server)?.policy ?? []);
  const isProtected = policies.some((policy) => policy.protected);
  const deletion = policies.some((policy) => policy.deletion === 'retain') ? 'retain' : 'delete';
  const object = { name, type: 'stack-instance', protected: isProtected, deletion };
  return { path: `stacks/instances/${name}.yaml`, oid: '', object };
}

interface Lost extends Pick<Unit, 'name' | 'commit' | 'time'> {
  /** Its file, as it was recorded: it tells whether the instance is protected. */
  readonly entry: Unit['entry'];
}

/** Returns the instance with the servers that the rows want of it, and without nodes. */
function recordedUnit(ledger: Pick<Ledger, 'server' | 'index'>, { name, entry, commit, time }: Lost): Unit {
  const servers = new Map<string, WantedServer>();
  for (const server of ledger.index.serversOf(name)) {
    const row = ledger.server(server);
    if (row === undefined || row.wanted === null) continue;
    const { instance, key, index, policy, wanted: spec } = row;
    servers.set(server, { name: server, instance, key, index, policy, spec });
  }
  return unitOfServers({ name, entry, commit, time }, servers);
}
