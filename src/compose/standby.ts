// Builds the role of a standby: it reads the rows that the leader writes, answers reads from them, and forwards other
// requests to the leader.
import { createStandbyApp } from '../api/app.ts';
import { LeaderLink } from '../api/leader-link.ts';
import { breatheBy } from '../base/breathe.ts';
import { StandbyFollower, type StandbyFollowerOptions } from '../follow/standby-follower.ts';
import type { WaitView } from '../machine/wait.ts';
import type { Outage } from '../service/answers.ts';
import { progressReads } from '../service/progress/progress-reads.ts';
import { recordReads } from '../service/progress/record-reads.ts';
import { wireReads } from './core.ts';
import type { SharedDatabase } from './open-store.ts';
import type { Standby } from './present-role.ts';
import { listenerOptions, type RoleParts } from './replica.ts';

/** How long writes wait for the next leader: a clean stop hands the lease over within this time. */
const LEADER_MS = 5_000;

/** The wait of each unsettled server that a standby reports if the leader does not answer. */
const KNOWN_TO_LEADER: WaitView = {
  reason: 'only the leader knows what it waits for, and no leader answers now',
  server: null,
  provider: null,
  until: null,
  action: null,
};

/** Returns the standby. `opened` closes it. */
export function createStandby(parts: RoleParts, database: SharedDatabase, opened: AsyncDisposableStack): Standby {
  const { replica, clock, log } = parts;
  const { repository, store, shown } = replica;
  const { deleteBudget } = parts.settings.execution;
  let present: StandbyFollower | undefined;
  const notReadyReason = (): string => present?.notReadyReason ?? 'it is becoming the leader';
  const { views, stallsOf, reader, explainer } = wireReads({
    ...shown,
    source: repository.source,
    clock,
    log,
    deleteBudget,
    notReadyReason,
  });
  const { lease } = database;
  const lag = (): Outage | undefined => present?.failure;
  const progress = progressReads({
    ...views,
    stallsOf,
    waitOf: () => KNOWN_TO_LEADER,
    checkFailureOf: () => undefined,
    lag,
    isUnled: true,
    leader: () => lease.leader() ?? null,
  });
  const link = opened.adopt(linkToLeader(database), (it) => it.close());
  const handler = createStandbyApp({
    ...listenerOptions(parts),
    reader,
    explainer,
    operator: { ...progress, ...recordReads(views) },
    leader: {
      isKnown: () => lease.leader() !== undefined,
      lag,
      ask: (question, body, gone) => link.ask(question, body, gone),
      // Without a standby follower, the store refuses rows of another desired state.
      refresh: () => (present === undefined ? store.refresh() : present.catchUp()),
      shows: async (commit) => {
        const head = shown.current.get()?.commit;
        if (head === commit || head === undefined) return head === commit;
        // With a leader, the read is forwarded instead, so that it starts no git process here.
        return lease.leader() === undefined && (await views.isAncestor(commit, head).catch(() => false));
      },
    },
  });
  return {
    handler,
    reader,
    stopWaiting: async () => link.stop(),
    leads: () => `not leading: ${leaderOf(database)}`,
    notReadyReason,
    start() {
      present = new StandbyFollower(partsToFollow(parts));
      present.start();
    },
    async stop() {
      const ending = present;
      present = undefined;
      link.close();
      await ending?.stop();
    },
  };
}

function linkToLeader({ lease, peers }: SharedDatabase): LeaderLink {
  const find = async () => {
    const leader = lease.leader();
    return leader && (await peers.find(leader));
  };
  return new LeaderLink({ identity: peers.identity, find, waitMs: LEADER_MS });
}

/** Returns the options for following the rows of the leader. */
export function partsToFollow({ replica, clock, log }: RoleParts): StandbyFollowerOptions {
  const { repository, store, shown } = replica;
  const { source } = repository;
  return { ...shown, refresh: () => store.refresh(), source, clock, log, breathe: breatheBy(clock) };
}

function leaderOf({ lease }: SharedDatabase): string {
  const leader = lease.leader();
  if (leader !== undefined) return `${leader.name} leads since ${leader.since}`;
  return lease.failure === undefined ? 'no replica leads' : `no replica is known to lead: ${lease.failure}`;
}
