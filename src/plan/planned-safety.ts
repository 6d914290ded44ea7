// Builds the facts by which the deletes of a plan are judged: as if every server of base were made, none were on its
// way out, and nobody had approved anything; or from the recorded servers of a running controller. Deletes that are
// over are not among those, although they count for an hour.
import type { Safety } from '../desired/admit.ts';
import type { HeldBefore } from '../desired/deletions.ts';
import type { Baseline } from '../desired/desired-state.ts';
import { wantsTheSame } from '../machine/existence.ts';
import { type Removal, removalsMax } from '../machine/removals.ts';
import type { DeleteBudget } from '../model/settings.ts';
import type { RecordedFacts } from './recorded-facts.ts';

/** Limits the deletes of a plan. */
interface PlannedLimits {
  /** The budget of the settings, or the number of deletes that need no approval. */
  readonly budget: DeleteBudget | number;
  /** The largest number in a `Treeline-Approve-Deletes` trailer of the commits that the merge brings; 0 without one. */
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
    going: new Set(servers.filter((server) => server.wanted === null).map(({ name }) => name)),
    deletions: {
      ...deletionFacts(made, limits),
      underWay: removalsUnderWay(servers),
      goesOn: (name, spec) => wantsTheSame(spec, wanted.get(name)),
      heldBefore,
      isRecovering,
    },
  };
}

/** Returns the facts about made servers and their incarnations, of which none is being deleted. */
function deletionFacts(
  made: ReadonlyMap<string, number>,
  { budget, approvedCount = 0 }: PlannedLimits,
): Safety['deletions'] {
  return {
    limit: typeof budget === 'number' ? budget : removalsMax(budget, made.size),
    recent: 0,
    isRecent: () => false,
    underWay: new Map(),
    goesOn: () => false,
    incarnationOf: (server) => made.get(server),
    isApproved: () => false,
    heldBefore: new Map(),
    approvedCount,
  };
}

/**
 * Returns true if Treeline made or adopted the server, or a create of it runs or is lost, as `isMade` of
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
