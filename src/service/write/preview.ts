// Computes the result of a write without committing it. See docs/rest.md, dry runs.
import { type Clock, within } from '../../base/clock.ts';
import { type ShareLimits, Shares } from '../../base/shares.ts';
import { judge } from '../../derive.ts';
import type { Safety } from '../../desired/admit.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import type { HieraNode } from '../../hiera/node.ts';
import { isSame } from '../../model/json.ts';
import { compareNames } from '../../model/names.ts';
import { changedNodes, changedServers, changedUnits } from '../../plan/changed-servers.ts';
import { isSameRecord } from '../../plan/configuration-changes.ts';
import { compareServers } from '../../plan/server-changes.ts';
import { Scope } from '../scope.ts';
import type { Draft, Effect, FileEdit, Preview, ServerEffect, WriteOrder } from './draft.ts';
import { judgeRequest } from './judge-writes.ts';
import { GIVE_UP_MS, nothingWritten } from './pending-write.ts';
import type { FollowedBranch } from './publish-batch.ts';
import { unifiedDiff } from './unified-diff.ts';

/** A preview costs as much as a write, and a poll of the remote. */
const SHARES: ShareLimits = { ofClient: 1, waitingOfClient: 100 };

interface PreviewParts {
  readonly branch: Pick<FollowedBranch, 'newest'>;
  readonly clock: Clock;
  /** Returns the facts that decide which deletes may happen now. */
  readonly safety: () => Safety;
}

interface PreviewOptions {
  /** True if the request itself approves the deletes, as when an administrator deletes an instance. */
  readonly isApproved: boolean;
}

/** Returns the effects of a draft. Throws ServiceError. */
export type PreviewWrite = (draft: Draft, order: WriteOrder, options: PreviewOptions) => Promise<Preview>;

/** Returns the function that previews writes. It throws the ServiceError of the write, and commits nothing. */
export function createPreview(parts: PreviewParts): PreviewWrite {
  const { branch, clock, safety } = parts;
  const shares = new Shares(SHARES);

  async function newest(): Promise<DesiredState> {
    const desired = await within(clock, GIVE_UP_MS, branch.newest());
    if (desired === undefined) throw nothingWritten();
    return desired;
  }

  async function preview(draft: Draft, order: WriteOrder, { isApproved }: PreviewOptions): Promise<Preview> {
    const before = await newest();
    const { edits, desired: after, derivation } = judgeRequest({ draft, order }, before);
    // With the current delete budget, the commit may leave instances held.
    const isJudged = isApproved || derivation === undefined;
    const { held } = isJudged ? after : judge(derivation, safety());
    const servers = serverChanges({ before, after, held: new Set(held.keys()) });
    const scopes = [before, after].map((state) => new Scope(order.by, { desired: () => state, rows: order.recorded }));
    const seen = servers.filter(({ server }) => scopes.some((scope) => scope.seesServer(server)));
    return { diff: diffOf(before, edits), servers: seen };
  }

  return (draft, order, options) => shares.run(order.by.serial, () => preview(draft, order, options));
}

function diffOf({ catalog }: DesiredState, edits: readonly FileEdit[]): string {
  return edits.map(({ path, text }) => unifiedDiff(path, catalog.files.get(path)?.text ?? null, text)).join('');
}

interface ComparedStates {
  readonly before: DesiredState;
  /** The state as if no change needed an approval. */
  readonly after: DesiredState;
  /** The instances that are held after the write. */
  readonly held: ReadonlySet<string>;
}

const EFFECTS = { create: 'created', update: 'updated', delete: 'deleted', replace: 'updated' } as const;

/** Returns the affected servers, sorted by name. */
export function serverChanges({ before, after, held }: ComparedStates): readonly ServerEffect[] {
  const changed = changedUnits(before.units, after.units);
  const { changes, retained } = compareServers(changedServers(changed), {
    before: before.units,
    after: after.units,
    writtenBefore: before.candidates,
    losses: after.losses,
    isSecret: () => true,
  });
  const effects = new Map<string, { readonly instance: string; readonly effect: Effect }>();
  for (const { name, before: old, after: now } of changedNodes(changed)) {
    if (old === undefined || now === undefined || !now.unit.servers.has(name)) continue;
    if (!hasSameRecord(old.part, now.part)) effects.set(name, { instance: now.unit.name, effect: 'record' });
  }
  for (const { resource, instance } of retained) effects.set(resource, { instance, effect: 'retained' });
  for (const { resource, instance, action } of changes) effects.set(resource, { instance, effect: EFFECTS[action] });
  return [...effects]
    .sort(([a], [b]) => compareNames(a, b))
    .map(([server, { instance, effect }]) =>
      held.has(instance)
        ? { server, instance, change: 'held', once_approved: effect }
        : { server, instance, change: effect },
    );
}

/** Compares references to outputs as part of the record. The write does not change the outputs themselves. */
function hasSameRecord(a: HieraNode, b: HieraNode): boolean {
  return isSame(a.own[0]?.reads, b.own[0]?.reads) && isSameRecord(a, b);
}
