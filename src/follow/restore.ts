// Restores the desired state of the recorded head from the rows and the recorded commits: that which the leader has
// activated. It reads only: follow-commit.ts activates it after a start, standby-follower.ts shows it beside a leader.
// Where no copy of the repository has the recorded head any more, the baseline is built from the rows alone: it has no
// records, and no objects but the pinned ones.

import type { Breathe } from '../base/breathe.ts';
import { invariant } from '../base/invariant.ts';
import { deriveInTurns, proposeInTurns, type Reusable } from '../derive.ts';
import type { RecordedJudgement } from '../desired/admit.ts';
import { buildClientcert } from '../desired/build-unit.ts';
import type { HeldDeletes } from '../desired/deletions.ts';
import { type ActiveVersion, type Baseline, type DesiredState, EMPTY_BASELINE } from '../desired/desired-state.ts';
import { type Receivers, receiversIn } from '../desired/undetermined.ts';
import { isValidUnit, type Unit, unitAddress, unitOfServers } from '../desired/unit.ts';
import { isWantedAs } from '../machine/want.ts';
import { instanceAddress, splitAddress } from '../model/address.ts';
import type { Entry } from '../model/entry.ts';
import type { Client, StackInstance } from '../model/objects.ts';
import { isError } from '../model/problem.ts';
import type { Document, HeadRow, HeldRow, PinnedRow } from '../model/rows.ts';
import type { WantedServer } from '../model/spec.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import type { Source } from '../repository/source.ts';
import { HEAD } from './object-rows.ts';
import { proposeAt, readCommit } from './read-commit.ts';

/** The rows that a desired state is restored from. */
type RecordedRows = Pick<Ledger, 'read' | 'list' | 'server' | 'index'>;

/** The parts that a desired state is restored with. */
interface RestoreParts {
  readonly source: Source;
  readonly rows: RecordedRows;
  readonly breathe: Breathe;
  /** A desired state to reuse, such as that of the head before; the result does not depend on it. */
  readonly earlier?: DesiredState | undefined;
}

/**
 * Returns the desired state that was activated with the recorded head, where it was followed; or what of it is not as
 * recorded, in words: then nothing may follow from it. What was judged then is taken from the rows, and is not judged
 * again. Throws where that commit is not here any more.
 */
export async function restoreDesired(parts: RestoreParts): Promise<DesiredState | string> {
  const { source, rows, breathe, earlier } = parts;
  const head = rows.read('head', HEAD);
  invariant(head !== undefined, 'there is a recorded head to restore');
  const snapshot = await readCommit(source, head.commit, { earlier, directory: head.place.directory });
  const proposed = await proposeInTurns(snapshot, { baseline: EMPTY_BASELINE, earlier }, breathe);
  if (!proposed.isFollowed) return proposed.problems.find(isError)?.message ?? 'it is wrong';
  const pinned = rows.list('pinned');
  const units = new Map(
    [...proposed.candidates].filter(([, unit]) => isValidUnit(unit) && !pinned.has(unitAddress(unit))),
  );
  const { hierarchy, time } = proposed.catalog;
  for (const unit of recordedUnits(rows, time)) units.set(unitAddress(unit), unit);
  const pinnedVersions = await pinnedUnits(parts, proposed);
  for (const { unit } of pinnedVersions) units.set(unitAddress(unit), unit);
  const receiversOfPinned = new Map(pinnedVersions.map(({ unit, receivers }) => [unitAddress(unit), receivers]));
  const kept = { ...keptObjects(pinned), hasHierarchy: hierarchy.oid !== '' };
  const baseline: Baseline = { ...EMPTY_BASELINE, units, owners: recordedOwners(rows), ...kept, receiversOfPinned };
  const difference = differenceFromRows(units, rows);
  if (difference !== undefined) return difference;
  // Errors of the recorded head were known when it was activated: the rows have what they hold.
  const known = { baseline, earlier: proposed, recorded: recordedJudgement(rows), isAccepted: true };
  // All files are parsed by now, so their bytes are not needed any more.
  const restored = await deriveInTurns({ ...snapshot, blobs: new Map() }, known, breathe);
  invariant(restored.isFollowed, `the recorded head ${head.commit} was taken once, so it is right`);
  return restored.desired;
}

function recordedJudgement(rows: RecordedRows): RecordedJudgement {
  const held = new Map([...rows.list('held')].map(([name, row]) => [name, heldDeletes(row, rows)]));
  const pinned = [...rows.list('pinned').keys()].filter((address) => {
    const [type, name] = splitAddress(address);
    return type === 'stack-instance' && !held.has(name);
  });
  const losses = [...rows.list('pinned')].flatMap(([address, { loss }]) =>
    loss === undefined ? [] : [[address, loss] as const],
  );
  const going = [...rows.list('server')].filter(([, { wanted }]) => wanted === null).map(([name]) => name);
  return { held, losses: new Map(losses), pinned: new Set(pinned), going: new Set(going) };
}

function heldDeletes({ servers, since: _since, ...held }: HeldRow, rows: RecordedRows): HeldDeletes {
  const removals = servers.map((server) => ({ server, incarnation: rows.server(server)?.incarnation ?? 0 }));
  return { ...held, removals };
}

/**
 * Returns a server that these units and the rows do not want alike, in words; undefined where there is none. An
 * activation writes both at once: so another directory was read, or the rows are those of another repository.
 */
function differenceFromRows(units: Baseline['units'], rows: RecordedRows): string | undefined {
  const derived = new Set<string>();
  let difference: string | undefined;
  for (const unit of units.values()) {
    for (const server of unit.servers.values()) {
      derived.add(server.name);
      if (!isAsRecorded(server, rows)) difference ??= `"${server.name}" is recorded in another way`;
    }
  }
  const pinned = rows.list('pinned');
  for (const [name, { instance, wanted }] of rows.list('server')) {
    if (wanted === null || derived.has(name)) continue;
    // An instance that is invalid from the start has no version, and may have rows of servers.
    if (pinned.get(instanceAddress(instance))?.commit !== null) difference ??= `"${name}" is recorded besides`;
  }
  return difference;
}

function isAsRecorded(server: WantedServer, rows: RecordedRows): boolean {
  const row = rows.server(server.name);
  return row !== undefined && isWantedAs(row, server);
}

/** The active version of a pinned instance or clientcert, and what its commit has that may be meant as an instance. */
interface PinnedVersion {
  readonly unit: Unit;
  readonly receivers: Receivers;
}

/**
 * Returns the active version of each pinned instance and clientcert, derived from its own commit, where that is here.
 */
async function pinnedUnits(parts: RestoreParts, newest: Reusable): Promise<readonly PinnedVersion[]> {
  const { rows, earlier } = parts;
  const units: PinnedVersion[] = [];
  const keysByCommit = new Map<string, string[]>();
  for (const [address, row] of rows.list('pinned')) {
    const [type] = splitAddress(address);
    if (row.commit === null || (type !== 'stack-instance' && type !== 'clientcert')) continue;
    const known = earlier?.units.get(address);
    // Without nodes it was made of rows only.
    if (known?.commit === row.commit && known.nodes.size > 0 && isRecorded(known, rows))
      units.push({ unit: known, receivers: earlier?.receiversOfPinned.get(address) ?? new Map() });
    else keysByCommit.set(row.commit, [...(keysByCommit.get(row.commit) ?? []), address]);
  }
  for (const [commit, keys] of keysByCommit) units.push(...(await unitsAt(parts, { commit, keys }, newest)));
  return units;
}

/** Returns those of the units that their commit still makes as they are recorded. */
async function unitsAt(
  parts: RestoreParts,
  { commit, keys }: { readonly commit: string; readonly keys: readonly string[] },
  newest: Reusable,
): Promise<readonly PinnedVersion[]> {
  const { source, rows, breathe } = parts;
  if (!(await source.has(commit))) return [];
  const directory = rows.read('head', HEAD)?.place.directory;
  const before = { baseline: EMPTY_BASELINE, earlier: newest, only: new Set(keys), directory, breathe };
  const older = await proposeAt(source, commit, before);
  if (!older.isFollowed) return [];
  const units = keys.flatMap((key) => older.candidates.get(key) ?? clientcertAt(older, key) ?? []);
  const recorded = units.filter((unit) => isValidUnit(unit) && isRecorded(unit, rows));
  const receivers = receiversIn(older);
  return recorded.map((unit) => ({ unit, receivers }));
}

/** Returns false for a version that is not the recorded one, such as that of another directory. */
function isRecorded(unit: Unit, rows: RecordedRows): boolean {
  const isAsWanted = [...unit.servers.values()].every((server) => isAsRecorded(server, rows));
  return isAsWanted && rows.read('pinned', unitAddress(unit))?.oid === unit.entry.oid;
}

/** Returns each pinned instance as its rows have it, in case the commit of its active version is gone. */
function recordedUnits(rows: RecordedRows, time: string): Unit[] {
  return [...rows.list('pinned')].flatMap(([address, row]) => {
    const [type, name] = splitAddress(address);
    if (row.commit === null || type !== 'stack-instance') return [];
    return [recordedUnit(rows, { name, entry: entryOfRow(row) as Entry<StackInstance>, commit: row.commit, time })];
  });
}

/**
 * A clientcert that by itself an older commit would not take for a hand-written one: another stack made its name then.
 */
function clientcertAt({ catalog }: Reusable, key: string): Unit | undefined {
  const entry = catalog.objects.get(key);
  return entry === undefined ? undefined : buildClientcert([splitAddress(key)[1], entry], catalog);
}

/**
 * Returns what was active, as far as rows have it: instances that are not pinned are protected and retained as their
 * servers.
 */
export function recordedBaseline(rows: RecordedRows, { commit, time }: HeadRow): Baseline {
  const units = [...recordedInstances(rows)].map((name) => {
    const address = instanceAddress(name);
    const pinned = rows.read('pinned', address);
    const document = pinned ?? documentOfRows(rows, name);
    const entry = entryOfRow(document) as Entry<StackInstance>;
    return recordedUnit(rows, { name, entry, commit: pinned?.commit ?? commit, time });
  });
  return {
    ...EMPTY_BASELINE,
    units: new Map(units.map((unit) => [unitAddress(unit), unit])),
    owners: recordedOwners(rows),
    ...keptObjects(rows.list('pinned')),
    // Where the new head has one that cannot be read, the safe answer is that it was there.
    hasHierarchy: true,
  };
}

/** Returns, for every wanted server, the address of the unit that makes it. */
function recordedOwners(rows: Pick<Ledger, 'list'>): ReadonlyMap<string, string> {
  const wanted = [...rows.list('server')].filter(([, row]) => row.wanted !== null);
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

/** Returns the instances of which a commit wanted servers. */
function recordedInstances(rows: RecordedRows): ReadonlySet<string> {
  const wanted = [...rows.list('server').values()].filter((row) => row.wanted !== null);
  return new Set(wanted.map(({ instance }) => instance));
}

/** Returns a file that says what the rows of the servers say of their protection and retention. */
function documentOfRows(rows: RecordedRows, name: string): Document {
  const policies = rows.index.serversOf(name).flatMap((server) => rows.server(server)?.policy ?? []);
  const isProtected = policies.some((policy) => policy.protected);
  const deletion = policies.some((policy) => policy.deletion === 'retain') ? 'retain' : 'delete';
  const object = { name, type: 'stack-instance', protected: isProtected, deletion };
  return { path: `stacks/instances/${name}.yaml`, oid: '', object };
}

interface Lost extends Pick<Unit, 'name' | 'commit' | 'time'> {
  /** It has the protection and the retention. */
  readonly entry: Unit['entry'];
}

/** Returns the instance with the servers that the rows want of it, and without nodes. */
function recordedUnit(rows: Pick<RecordedRows, 'server' | 'index'>, { name, entry, commit, time }: Lost): Unit {
  const servers = new Map<string, WantedServer>();
  for (const server of rows.index.serversOf(name)) {
    const row = rows.server(server);
    if (row === undefined || row.wanted === null) continue;
    const { instance, key, index, policy, wanted: spec } = row;
    servers.set(server, { name: server, instance, key, index, policy, spec });
  }
  return unitOfServers({ name, entry, commit, time }, servers);
}
