// Builds the facts that judge the deletes of a plan. Without a controller, it assumes that every server of base
// exists, that none is being deleted, and that there are no approvals. With a controller, it uses the recorded
// servers, which do not include finished deletes, although these count for an hour.
import type { Safety } from '../desired/admit.ts';
import type { HeldBefore } from '../desired/deletions.ts';
import type { Baseline } from '../desired/desired-state.ts';
import { wantsTheSame } from '../machine/existence.ts';
import { type Removal, removalsMax } from '../machine/removals.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { RecordedFacts } from './recorded-facts.ts';

/** Limits the deletes of a plan. */
interface PlannedLimits {
  /** The delete budget of the settings, or the number of deletes that need no approval. */
  readonly budget: DeleteBudget | number;
  /** The largest number in a `Treeline-Approve-Deletes` trailer of the merged commits; 0 without one. */
  readonly approvedCount?: number;
}

/** Returns the facts about the servers of base. */
export function safetyOfServers({ owners }: Pick<Baseline, 'owners'>, limits: PlannedLimits): Safety {
  return { deletions: deletionFacts(new Map([...owners.keys()].map((server) => [server, 1])), limits) };
}

/** The recorded facts. */
interface RecordedLimits extends PlannedLimits {
  readonly servers: readonly RecordedFacts[];
  /** See DeletionFacts. */
  readonly isRecovering?: boolean;
  /** The held deletes, by instance. */
  readonly heldBefore: ReadonlyMap<string, HeldBefore>;
}

/** Returns the facts about recorded servers. */
export function safetyOfRecorded(limits: RecordedLimits): Safety {
  const { servers, heldBefore, isRecovering = false } = limits;
  const made = new Map(servers.filter(isMadeServer).map(({ name, incarnation }) => [name, incarnation]));
  const wanted = new Map(servers.map((server) => [server.name, server.wanted]));
  return {
    unwanted: new Set(servers.filter((server) => server.wanted === null).map(({ name }) => name)),
    deletions: {
      ...deletionFacts(made, limits),
      underWay: removalsUnderWay(servers),
      isContinued: (name, spec) => wantsTheSame(spec, wanted.get(name)),
      heldBefore,
      isRecovering,
    },
  };
}

/** Returns the facts about existing servers and their incarnations, none of which is being deleted. */
function deletionFacts(
  made: ReadonlyMap<string, number>,
  { budget, approvedCount = 0 }: PlannedLimits,
): Safety['deletions'] {
  return {
    limit: typeof budget === 'number' ? budget : removalsMax(budget, made.size),
    recent: 0,
    isRecent: () => false,
    underWay: new Map(),
    isContinued: () => false,
    incarnationOf: (server) => made.get(server),
    isApproved: () => false,
    heldBefore: new Map(),
    approvedCount,
  };
}

/**
 * Returns true if Treeline created or adopted the server, or a create of it runs or is lost, like `isMade` of
 * machine/existence.ts.
 */
function isMadeServer({ provider, applied, state }: RecordedFacts): boolean {
  return provider !== null && (applied !== null || state === 'creating' || state === 'unknown');
}

function removalsUnderWay(servers: readonly RecordedFacts[]): ReadonlyMap<string, readonly Removal[]> {
  const found = new Map<string, Removal[]>();
  for (const server of servers) {
    const { name, instance, wanted, replacing, approved, deletion, incarnation } = server;
    const isGoing = wanted === null ? deletion === 'delete' : replacing && !server.protected;
    if (!isGoing || approved || !isMadeServer(server)) continue;
    found.set(instance, [...(found.get(instance) ?? []), { server: name, incarnation }]);
  }
  return found;
}
