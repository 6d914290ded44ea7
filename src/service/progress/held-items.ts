// Lists all held changes, in the form of the API.
import type { RefusedCommit } from '../../desired/desired-state.ts';
import { failuresDigest } from '../../machine/hold-digests.ts';
import { failuresMax } from '../../machine/rollout.ts';
import { compareNames } from '../../model/names.ts';
import type { HeldRow } from '../../model/rows.ts';
import type { HeldItem } from '../answers.ts';
import type { Scope } from '../scope.ts';
import type { PresentRows } from '../views.ts';

/** Returns the held instances that a client sees, sorted by name, then the held updates and commits. */
export function heldItems(rows: PresentRows, refused: RefusedCommit | undefined, scope: Scope): readonly HeldItem[] {
  const held = [...rows.list('held')].filter(([instance]) => scope.seesInstance(instance));
  const deletes = held
    .sort(([a], [b]) => compareNames(a, b))
    .map(([instance, row]): HeldItem => {
      const { digest, since, servers, commit = null } = row;
      const kind = row.isHandOver ? 'unreadable' : 'deletes';
      const reason = heldReason(row, rows);
      return { kind, digest, instance, reason, since, resources: servers, commit, author: authorOf(commit, rows) };
    });
  // A rollout concerns the updates of all instances.
  const items = [...deletes, ...(scope.isWhole ? failures(rows) : []), ...commitHolds(refused, rows, scope)];
  return scope.seesClients ? items : items.map((item) => ({ ...item, author: null }));
}

/**
 * Returns true if held deletes are already approved. They stay held only while the repository cannot be read.
 */
export function isApprovedAlready({ digest }: HeldRow, rows: PresentRows): boolean {
  return rows.read('approval', digest) !== undefined;
}

/** Returns the author of a commit of the history; null if unknown. */
export function authorOf(commit: string | null, rows: PresentRows): string | null {
  return commit === null ? null : (rows.read('commit', commit)?.author ?? null);
}

function heldReason(row: HeldRow, rows: PresentRows): string {
  if (!isApprovedAlready(row, rows)) return row.reason;
  return `${row.reason}; it is approved, and waits until the repository can be read`;
}

function commitHolds(refused: RefusedCommit | undefined, rows: PresentRows, scope: Scope): HeldItem[] {
  if (refused === undefined || refused.hold === null) return [];
  const { hold, since, commit } = refused;
  const { kind, digest, check, effect } = hold;
  const reason = effect === undefined ? refused.reason : `${refused.reason}; ${effect.text}`;
  const resources = (effect?.deletes ?? []).filter((server) => scope.seesServer(server));
  const author = authorOf(commit, rows);
  const advice = check === undefined ? {} : { check };
  return [{ kind, digest, instance: null, reason, since, resources, commit, author, ...advice }];
}

/** Returns the updates of each commit that wait because too many other updates of the commit failed. */
function failures(rows: PresentRows): HeldItem[] {
  return [...rows.index.openUpdates()].flatMap(([commit, open]) => {
    // Without a row, the rollout has ended or was small: the waiting updates correct drift.
    const recorded = rows.read('rollout', commit);
    if (recorded === undefined && ![...open].some((name) => rows.server(name)?.state === 'pending')) return [];
    const rollout = recorded ?? { updates: 0 };
    const digest = failuresDigest(commit);
    const resources = [...rows.index.failedUpdatesOf(commit)].sort(compareNames);
    if (resources.length < failuresMax(rollout) || rows.read('approval', digest) !== undefined) return [];
    const since =
      resources
        .map((name) => rows.server(name)?.since ?? '')
        .sort()
        .at(-1) ?? '';
    const failed = rollout.updates === 0 ? resources.length : `${resources.length} of ${rollout.updates}`;
    const reason = `${failed} updates of commit ${commit} have failed, so the rest waits`;
    const author = authorOf(commit, rows);
    return [{ kind: 'failures', digest, instance: null, reason, since, resources, commit, author }];
  });
}
