// Restores the desired state that was activated with the recorded head, from the rows and the recorded commits.
// Read-only: follow-commit.ts activates it after a start, standby-follower.ts shows it on a standby. If the recorded
// head is lost, the baseline is built from the rows alone, without records and with pinned objects only.

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

/** The rows from which a desired state is restored. */
type RecordedRows = Pick<Ledger, 'read' | 'list' | 'server' | 'index'>;

/** The sources of a restored desired state. */
interface RestoreParts {
  readonly source: Source;
  readonly rows: RecordedRows;
  readonly breathe: Breathe;
  /** A desired state to reuse, such as that of the previous head. The result does not depend on it. */
  readonly earlier?: DesiredState | undefined;
}

/**
 * Returns the desired state that was activated with the recorded head, or a description of its difference from the
 * rows; then it must not be used. The recorded judgement is used and not made again. Throws if the commit is lost.
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
  // The errors of the recorded head were known at its activation, and the rows show their effect.
  const known = { baseline, earlier: proposed, recorded: recordedJudgement(rows), isAccepted: true };
  // All files are parsed, so their bytes are no longer needed.
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
  const unwanted = [...rows.list('server')].filter(([, { wanted }]) => wanted === null).map(([name]) => name);
  return { held, losses: new Map(losses), pinned: new Set(pinned), unwanted: new Set(unwanted) };
}

function heldDeletes({ servers, since: _since, ...held }: HeldRow, rows: RecordedRows): HeldDeletes {
  const removals = servers.map((server) => ({ server, incarnation: rows.server(server)?.incarnation ?? 0 }));
  return { ...held, removals };
}

/**
 * Returns a description of a server that these units and the rows want differently; undefined if there is none. An
 * activation writes both together, so a difference means that another directory or repository was read.
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
    // An instance without a valid version may have rows of servers.
    if (pinned.get(instanceAddress(instance))?.commit !== null) difference ??= `"${name}" is recorded besides`;
  }
  return difference;
}

function isAsRecorded(server: WantedServer, rows: RecordedRows): boolean {
  const row = rows.server(server.name);
  return row !== undefined && isWantedAs(row, server);
}

/** The active version of a pinned instance or clientcert, and the receivers of its commit. */
interface PinnedVersion {
  readonly unit: Unit;
  readonly receivers: Receivers;
}

/**
 * Returns the active version of each pinned instance and clientcert, derived from its own commit if that is available.
 */
async function pinnedUnits(parts: RestoreParts, newest: Reusable): Promise<readonly PinnedVersion[]> {
  const { rows, earlier } = parts;
  const units: PinnedVersion[] = [];
  const keysByCommit = new Map<string, string[]>();
  for (const [address, row] of rows.list('pinned')) {
    const [type] = splitAddress(address);
    if (row.commit === null || (type !== 'stack-instance' && type !== 'clientcert')) continue;
    const known = earlier?.units.get(address);
    // A unit without nodes was made from rows only.
    if (known?.commit === row.commit && known.nodes.size > 0 && isRecorded(known, rows))
      units.push({ unit: known, receivers: earlier?.receiversOfPinned.get(address) ?? new Map() });
    else keysByCommit.set(row.commit, [...(keysByCommit.get(row.commit) ?? []), address]);
  }
  for (const [commit, keys] of keysByCommit) units.push(...(await unitsAt(parts, { commit, keys }, newest)));
  return units;
}

/** Returns the units of a commit that match the rows. */
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

/** Returns false for a version that is not the recorded one, such as one from another directory. */
function isRecorded(unit: Unit, rows: RecordedRows): boolean {
  const isAsWanted = [...unit.servers.values()].every((server) => isAsRecorded(server, rows));
  return isAsWanted && rows.read('pinned', unitAddress(unit))?.oid === unit.entry.oid;
}

/** Returns each pinned instance from its rows, in case the commit of its active version is lost. */
function recordedUnits(rows: RecordedRows, time: string): Unit[] {
  return [...rows.list('pinned')].flatMap(([address, row]) => {
    const [type, name] = splitAddress(address);
    if (row.commit === null || type !== 'stack-instance') return [];
    return [recordedUnit(rows, { name, entry: entryOfRow(row) as Entry<StackInstance>, commit: row.commit, time })];
  });
}

/** Returns a clientcert that was not hand-written in an older commit, because a stack had a server of that name. */
function clientcertAt({ catalog }: Reusable, key: string): Unit | undefined {
  const entry = catalog.objects.get(key);
  return entry === undefined ? undefined : buildClientcert([splitAddress(key)[1], entry], catalog);
}

/**
 * Returns the active state as far as the rows have it. Instances that are not pinned get the protection and retention
 * of their servers.
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
    // Safe if the new head has a hierarchy.yaml that cannot be read: it then counts as unreadable, not as new.
    hasHierarchy: true,
  };
}

/** Returns the address of the unit of every wanted server. */
function recordedOwners(rows: Pick<Ledger, 'list'>): ReadonlyMap<string, string> {
  const wanted = [...rows.list('server')].filter(([, row]) => row.wanted !== null);
  return new Map(wanted.map(([name, { instance }]) => [name, instanceAddress(instance)]));
}

/** Returns the pinned objects and clients from their recorded documents. */
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

/** Returns an entry from a recorded document. It has no places, because Git may have another text now. */
function entryOfRow({ path, oid, object }: Document): Entry<unknown> {
  return { path, oid, object, problems: [], locate: () => ({ line: 1, column: 1 }) };
}

/** Returns the instances with wanted servers. */
function recordedInstances(rows: RecordedRows): ReadonlySet<string> {
  const wanted = [...rows.list('server').values()].filter((row) => row.wanted !== null);
  return new Set(wanted.map(({ instance }) => instance));
}

/** Returns a document with the protection and retention from the rows of the servers. */
function documentOfRows(rows: RecordedRows, name: string): Document {
  const policies = rows.index.serversOf(name).flatMap((server) => rows.server(server)?.policy ?? []);
  const isProtected = policies.some((policy) => policy.protected);
  const deletion = policies.some((policy) => policy.deletion === 'retain') ? 'retain' : 'delete';
  const object = { name, type: 'stack-instance', protected: isProtected, deletion };
  return { path: `stacks/instances/${name}.yaml`, oid: '', object };
}

interface Lost extends Pick<Unit, 'name' | 'commit' | 'time'> {
  /** Contains the protection and retention. */
  readonly entry: Unit['entry'];
}

/** Returns the instance with the wanted servers from the rows, without nodes. */
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
