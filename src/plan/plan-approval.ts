// Plans what approving held deletes or updates does: what is left to do on the servers that wait for it.
import { type Plan, planDigest, type ServerChange } from './plan.ts';
import { type Merge, planMerge } from './plan-merge.ts';

/** An instance whose deletes are approved, with everything else of it. */
interface ApprovedInstance {
  readonly instance: string;
}

/** The updates of a commit of which too many have failed. */
interface ApprovedCommit {
  readonly commit: string;
  /** Those that have failed: they are tried again in any case. */
  readonly failed: readonly string[];
}

/**
 * Returns what approving the deletes of an instance does, also to the instances that wait for it. The merge is that of
 * the followed commit with itself, and its facts have the approval. Undefined: they do not let the instance go on.
 */
export function planApproval(merge: Merge, { instance }: ApprovedInstance): Plan | undefined {
  const { recorded: _, ...wanted } = merge;
  const ofWanted = planMerge(wanted);
  if (ofWanted.held?.instances.includes(instance)) return undefined;
  const names = new Set([instance, ...[...ofWanted.changes, ...ofWanted.retained].map((change) => change.instance)]);
  return narrowed(planMerge(merge), (change) => names.has(change.instance));
}

/** Returns what approving the updates of a commit does. */
export function planFailures(merge: Merge, { commit, failed }: ApprovedCommit): Plan {
  const waiting = new Set((merge.recorded ?? []).flatMap((server) => (server.commit === commit ? [server.name] : [])));
  for (const name of failed) waiting.delete(name);
  return narrowed(planMerge(merge), ({ resource, action }) => waiting.has(resource) && action === 'update');
}

/** Nothing else that is held is part of it. */
function narrowed(
  plan: Plan,
  isPart: (change: Pick<ServerChange, 'resource' | 'instance'> & { action?: ServerChange['action'] }) => boolean,
): Plan {
  const changes = plan.changes.filter(isPart);
  const retained = plan.retained.filter((change) => isPart(change));
  return { ...plan, changes, retained, held: null, digest: planDigest({ ...plan, changes, retained }) };
}
