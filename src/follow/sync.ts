// Compares a new desired state with the rows, and returns the changes that update the rows. Pure. All changes are
// committed together with the new head, so no crash leaves half a commit.
import type { Breathe } from '../base/breathe.ts';
import type { Baseline, DesiredState } from '../desired/desired-state.ts';
import { factsOf, nodeOf } from '../desired/node-records.ts';
import { isRetaining } from '../desired/unit.ts';
import { explainRecord } from '../hiera/explain-node.ts';
import { isBeingRemoved } from '../machine/existence.ts';
import type { OutputFacts } from '../machine/read-outputs.ts';
import { keptRemovals } from '../machine/removals.ts';
import { isPlainSecret } from '../machine/secret-values.ts';
import { type CommitStamp, firstRow, unwantRow, wantRow, withOutputs } from '../machine/want.ts';
import { instanceAddress } from '../model/address.ts';
import type { ExplainedRecord } from '../model/record.ts';
import type { Change, FollowedPlace, RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Ledger } from '../reconcile/ledger.ts';
import { secretRulesOf } from './current-state.ts';
import {
  heldRows,
  keptApprovals,
  openUpdatesAfter,
  rolloutRows,
  type ServerRowChange,
  suspensionRows,
} from './hold-rows.ts';
import { headRow, nodeRows, pinnedRows, terminatingRows } from './object-rows.ts';

interface Sync {
  readonly desired: DesiredState;
  /** The repository and branch of the commit. */
  readonly place: FollowedPlace;
  /** The baseline; undefined: compare every row and every unit. */
  readonly before: (Baseline & Partial<Pick<DesiredState, 'catalog'>>) | undefined;
  /** The baseline even if every row is compared. Terminating instances keep their file from it. Omitted: `before`. */
  readonly last?: Baseline | undefined;
  /** The newest commit of the branch, followed or not; undefined before the first poll. */
  readonly newest?: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly breathe: Breathe;
}

type Read = Pick<Ledger, 'read' | 'list' | 'index'>;

/**
 * Returns the changes that make the rows agree with the desired state. With a baseline it reads only the rows of
 * servers of changed units, and of unwanted servers.
 */
export async function syncChanges(store: Read, sync: Sync): Promise<readonly Change[]> {
  const { desired, place, before, last = before, newest, now } = sync;
  const { commit, time } = desired;
  const servers = await serverChanges(store, sync);
  const recorded = instancesAfter(store.index, servers);
  const rowOf = (name: string): ServerRow | undefined => servers.get(name)?.value ?? store.read('server', name);
  const rollouts = rolloutRows(store.list('rollout'), openUpdatesAfter(store.index, [...servers.values()]));
  const approvals = keptApprovals(store.list('approval'), { desired, newest, rollouts, now });
  const terminating = terminatingRows(store, { desired, before: last }, recorded);
  const suspended = suspensionRows(store.list('suspension'), { desired, recorded });
  return [
    ...servers.values(),
    ...tableChanges(store, 'head', headRow(desired, place)),
    ...tableChanges(store, 'pinned', pinnedRows(desired)),
    ...tableChanges(store, 'node', nodeRows({ units: desired.units, time }, store.list('node'))),
    ...tableChanges(store, 'held', heldRows({ held: desired.held, commit }, store.list('held'), now)),
    ...tableChanges(store, 'removal', keptRemovals(store.list('removal'), { rowOf, now })),
    ...tableChanges(store, 'approval', approvals),
    ...tableChanges(store, 'rollout', rollouts),
    ...tableChanges(store, 'terminating', terminating),
    ...tableChanges(store, 'suspension', suspended),
    ...tableChanges(store, 'acknowledgement', acknowledgementRows(store, { desired, terminating, now })),
  ];
}

/** By name. */
type ServerChanges = Map<string, ServerRowChange>;

async function serverChanges(store: Read, sync: Sync): Promise<ServerChanges> {
  const changes: ServerChanges = new Map();
  await addWanted(changes, store, sync);
  await addUnwanted(changes, store, sync);
  addApprovals(changes, store, sync.desired);
  return changes;
}

/** Returns the names of the instances that have rows of servers after these changes. */
function instancesAfter(index: Read['index'], changes: ServerChanges): ReadonlySet<string> {
  const instances = new Set(index.instances());
  const moved = [...changes.values()].filter(({ value, expected }) => value.instance !== expected?.instance);
  const movedAway = Map.groupBy(moved, ({ expected }) => expected?.instance ?? '');
  for (const [instance, { length }] of movedAway) {
    if (index.serversOf(instance).length === length) instances.delete(instance);
  }
  for (const { value } of moved) instances.add(value.instance);
  return instances;
}

/** Returns the acknowledgements that continue: their instance exists, and their time is not over. */
function acknowledgementRows(
  store: Read,
  { desired, terminating, now }: Pick<Sync, 'desired' | 'now'> & { readonly terminating: ReadonlyMap<string, unknown> },
): ReadonlyMap<string, Rows['acknowledgement']> {
  const isThere = (name: string): boolean =>
    desired.units.has(instanceAddress(name)) || desired.invalid.has(name) || terminating.has(name);
  const known = store.list('acknowledgement');
  return new Map([...known].filter(([name, { until }]) => isThere(name) && Date.parse(until) > now));
}

async function addWanted(
  changes: ServerChanges,
  store: Read,
  { desired, before, last, now, breathe }: Sync,
): Promise<void> {
  const rules = secretRulesOf(desired) ?? {};
  const facts: OutputFacts = {
    outputsOf: (server) => store.read('server', server)?.outputs,
    mayHold: (name, value) => !isPlainSecret({ name, value }, rules),
  };
  for (const [key, unit] of desired.units) {
    if (before !== undefined && before.units.get(key) === unit) continue;
    const isRestored = before === undefined && last?.units.get(key) === unit;
    const stamp: CommitStamp = { commit: desired.commit, time: desired.time, now, isRestored };
    for (const server of unit.servers.values()) {
      const row = store.read('server', server.name);
      const resolved = withOutputs(server, row, facts);
      const value = row === undefined ? firstRow(resolved, stamp) : wantRow(row, resolved, stamp);
      if (value !== row) changes.set(server.name, { kind: 'server', name: server.name, value, expected: row });
    }
    await breathe();
  }
}

async function addUnwanted(changes: ServerChanges, store: Read, sync: Sync): Promise<void> {
  const { desired, before, last = before, now, breathe } = sync;
  const former = before === undefined ? store.list('server').keys() : formerServers(desired, before);
  for (const name of new Set([...former, ...store.index.unwanted()])) {
    const row = desired.owners.has(name) ? undefined : store.read('server', name);
    if (row === undefined || isUnreadable(row.instance, desired)) continue;
    const lastRecord = row.lastRecord ?? recordIn(last, name, row);
    const unwantedRow = unwantRow(row, { lastRecord, commit: desired.commit, now });
    const value = withDeletion(unwantedRow, deletionOf(row, desired));
    if (value !== row) changes.set(name, { kind: 'server', name, value, expected: row });
    await breathe();
  }
}

/**
 * Marks approved deletes and replacements, including those that wait since an earlier commit, so that they do not
 * count.
 */
function addApprovals(changes: ServerChanges, store: Read, { approved }: DesiredState): void {
  const ofApproved = [...approved].flatMap((instance) => store.index.serversOf(instance));
  for (const name of new Set([...ofApproved, ...(approved.size === 0 ? [] : changes.keys())])) {
    const row = store.read('server', name);
    const value = changes.get(name)?.value ?? row;
    if (value === undefined || !isBeingRemoved(value) || value.approved || !approved.has(value.instance)) continue;
    const action = value.action === null ? null : { ...value.action, isApproved: true };
    changes.set(name, { kind: 'server', name, value: { ...value, action, approved: true }, expected: row });
  }
}

/**
 * Returns the deletion policy: `retain` if the instance retains servers now. Else a server that was wanted until now
 * has the policy that was judged.
 */
function deletionOf({ instance, wanted, policy }: ServerRow, { units, losses }: DesiredState): 'delete' | 'retain' {
  const key = instanceAddress(instance);
  if (isRetaining(units.get(key))) return 'retain';
  return (wanted === null ? undefined : losses.get(key))?.deletion ?? policy.deletion;
}

function withDeletion(row: ServerRow, deletion: 'delete' | 'retain'): ServerRow {
  return row.policy.deletion === deletion ? row : { ...row, policy: { ...row.policy, deletion } };
}

/** Returns true if the instance has a file but no valid version, so its servers may still be wanted. */
function isUnreadable(instance: string, desired: DesiredState): boolean {
  return desired.invalid.has(instance) && !desired.units.has(instanceAddress(instance));
}

function* formerServers(desired: DesiredState, before: Baseline): Generator<string> {
  for (const [key, unit] of before.units) {
    if (desired.units.get(key) !== unit) yield* unit.servers.keys();
  }
}

/** Returns the changes from the recorded rows of one kind to the wanted ones. Equal values are unchanged. */
function tableChanges<Kind extends Exclude<RowKind, 'server'>>(
  store: Read,
  kind: Kind,
  wanted: ReadonlyMap<string, Rows[Kind]>,
): readonly Change[] {
  const recorded = store.list(kind);
  const changes: Change[] = [];
  for (const name of new Set([...recorded.keys(), ...wanted.keys()])) {
    const expected = recorded.get(name);
    const value = wanted.get(name) ?? null;
    if (expected === value || JSON.stringify(expected ?? null) === JSON.stringify(value)) continue;
    changes.push({ kind, name, value, expected } as Change);
  }
  return changes;
}

/** Returns the record of a server at its previous active version; null if not known. */
function recordIn(before: Baseline | undefined, name: string, row: ServerRow): ExplainedRecord | null {
  const node = before === undefined ? undefined : nodeOf(before, name);
  return node === undefined ? null : explainRecord(node, factsOf(row));
}
