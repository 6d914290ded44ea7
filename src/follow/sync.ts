// Compares a new desired state with the rows, and returns the changes that make the rows say what is wanted now. Pure.
// All of them are committed together with the new head, so no crash leaves half a commit.

import type { Baseline, DesiredState } from '../desired/desired-state.ts';
import { isRetaining, type Unit } from '../desired/unit.ts';
import { isBeingRemoved } from '../machine/existence.ts';
import { keptRemovals } from '../machine/removals.ts';
import { type CommitStamp, firstRow, unwantRow, wantRow } from '../machine/want.ts';
import { instanceAddress } from '../model/address.ts';
import type { ExplainedRecord } from '../model/record.ts';
import type { Change, RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';
import { heldRows, keptApprovals, keptSuspensions, rolloutRows } from './hold-rows.ts';
import { activeRows, headRow, nodeRows, pinnedRows, terminatingRows } from './object-rows.ts';

interface Sync {
  readonly desired: DesiredState;
  /** The baseline; undefined: compare every row and every unit. */
  readonly before: Baseline | undefined;
  /** The same, also where every row is compared: terminating instances keep their file from there. */
  readonly last?: Baseline | undefined;
  /** The newest commit of the branch, followed or not; undefined before the first poll. */
  readonly newest?: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The last record of a server that is not wanted any more. */
  readonly lastRecord: (server: string, row: ServerRow) => ExplainedRecord | null;
}

type Read = Pick<Store, 'read' | 'list'>;

/** Returns the changes that make the rows agree with the desired state; none where they do already. */
export function syncChanges(store: Read, sync: Sync): readonly Change[] {
  const servers = withApprovals([...wantedChanges(store, sync), ...unwantedChanges(store, sync)], store, sync.desired);
  const changed = new Map(servers.map(({ name, value }) => [name, value]));
  const after = [...new Map([...store.list('server'), ...changed]).values()];
  const rollouts = rolloutRows(store.list('rollout'), after, sync.desired.commit);
  const { desired, before, last = before, newest, now } = sync;
  const rowOf = (name: string): ServerRow | undefined => changed.get(name) ?? store.read('server', name);
  const terminating = terminatingRows(store, { desired, before: last }, (name) => changed.get(name));
  return [
    ...servers,
    ...tableChanges(store, 'head', headRow(desired)),
    ...tableChanges(store, 'pinned', pinnedRows(desired)),
    ...tableChanges(store, 'active', activeRows(desired, store.list('active'))),
    ...tableChanges(store, 'node', nodeRows(desired, store.list('node'))),
    ...tableChanges(store, 'held', heldRows(desired, store.list('held'), now)),
    ...tableChanges(store, 'approval', keptApprovals(store.list('approval'), { desired, newest, rollouts, now })),
    ...tableChanges(store, 'removal', keptRemovals(store.list('removal'), { rowOf, now })),
    ...tableChanges(store, 'rollout', rollouts),
    ...tableChanges(store, 'terminating', terminating),
    ...tableChanges(
      store,
      'suspension',
      keptSuspensions(store.list('suspension'), desired, { rows: after, terminating }),
    ),
  ];
}

type ServerRowChange = Extract<Change, { kind: 'server' }> & { readonly value: ServerRow };

function wantedChanges(store: Read, { desired, before, last, now }: Sync): ServerRowChange[] {
  const changes: ServerRowChange[] = [];
  for (const [key, unit] of desired.units) {
    if (before !== undefined && before.units.get(key) === unit) continue;
    const isRestored = before === undefined && last?.units.get(key) === unit;
    const stamp: CommitStamp = { commit: desired.commit, time: desired.time, now, isRestored };
    for (const server of unit.servers.values()) {
      const row = store.read('server', server.name);
      const value = row === undefined ? firstRow(server, stamp) : wantRow(row, server, stamp);
      if (value !== row) changes.push({ kind: 'server', name: server.name, value, expected: row });
    }
  }
  return changes;
}

function unwantedChanges(store: Read, { desired, before, now, lastRecord }: Sync): ServerRowChange[] {
  const changes: ServerRowChange[] = [];
  const former = before === undefined ? store.list('server').keys() : formerServers(desired, before);
  for (const name of new Set([...former, ...unwantedServers(store)])) {
    const row = desired.owners.has(name) ? undefined : store.read('server', name);
    if (row === undefined || isUnreadable(row.instance, desired)) continue;
    const last = row.lastRecord ?? lastRecord(name, row);
    const unwanted = unwantRow(row, { lastRecord: last, commit: desired.commit, now });
    const value = withRetention(unwanted, desired.units.get(instanceAddress(row.instance)));
    if (value !== row) changes.push({ kind: 'server', name, value, expected: row });
  }
  return changes;
}

/** Deletes and replacements that were approved no longer count, also those that wait since an earlier commit. */
function withApprovals(
  changes: readonly ServerRowChange[],
  store: Read,
  { approved }: DesiredState,
): ServerRowChange[] {
  if (approved.size === 0) return [...changes];
  const byName = new Map(changes.map((change) => [change.name, change]));
  for (const [name, row] of store.list('server')) {
    const value = byName.get(name)?.value ?? row;
    if (!isBeingRemoved(value) || value.approved || !approved.has(value.instance)) continue;
    const action = value.action === null ? null : { ...value.action, isApproved: true };
    byName.set(name, { kind: 'server', name, value: { ...value, action, approved: true }, expected: row });
  }
  return [...byName.values()];
}

/** Retains a server whose delete has not begun, where the active version of its instance retains servers by now. */
function withRetention(row: ServerRow, unit: Unit | undefined): ServerRow {
  if (row.policy.deletion === 'retain' || !isRetaining(unit)) return row;
  return { ...row, policy: { ...row.policy, deletion: 'retain' } };
}

function* unwantedServers(store: Read): Generator<string> {
  for (const [name, { wanted }] of store.list('server')) if (wanted === null) yield name;
}

/** Returns true where the file is there and no valid version of it was found: its servers may still be wanted. */
function isUnreadable(instance: string, desired: DesiredState): boolean {
  return desired.invalid.has(instance) && !desired.units.has(instanceAddress(instance));
}

function* formerServers(desired: DesiredState, before: Baseline): Generator<string> {
  for (const [key, unit] of before.units) {
    if (desired.units.get(key) !== unit) yield* unit.servers.keys();
  }
}

/** Yields the changes from the recorded rows of one kind to the wanted ones. Equal values stay. */
function* tableChanges<Kind extends Exclude<RowKind, 'server'>>(
  store: Read,
  kind: Kind,
  wanted: ReadonlyMap<string, Rows[Kind]>,
): Generator<Change> {
  const recorded = store.list(kind);
  for (const name of new Set([...recorded.keys(), ...wanted.keys()])) {
    const expected = recorded.get(name);
    const value = wanted.get(name) ?? null;
    if (expected === value) continue;
    if (JSON.stringify(expected ?? null) !== JSON.stringify(value)) yield { kind, name, value, expected } as Change;
  }
}
