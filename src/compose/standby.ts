// Builds what a replica does that does not lead: it shows what the leader has written, and has the leader answer what
// only that may.
import { createStandbyApp } from '../api/app.ts';
import { LeaderLink } from '../api/leader-link.ts';
import { dashboardAddress } from '../api/page/dashboard.ts';
import { StandbyFollower, type StandbyFollowerOptions } from '../follow/standby-follower.ts';
import type { ToldWait } from '../machine/wait.ts';
import type { Outage } from '../service/answers.ts';
import { progressReads } from '../service/progress/progress-reads.ts';
import { recordReads } from '../service/progress/record-reads.ts';
import { wireReads } from './core.ts';
import type { SharedDatabase } from './open-store.ts';
import type { ServingRole } from './present-role.ts';
import type { RoleParts } from './replica.ts';

/** The role of a standby, which may begin again. */
export interface Standby extends ServingRole {
  /** Follows the leader. */
  start(): void;
}

/** What servers wait for that are not at rest: a standby reports them only if the leader does not. */
const KNOWN_TO_LEADER: ToldWait = {
  ...{ reason: 'only the leader knows what it waits for, and no leader answers now' },
  ...{ server: null, provider: null, until: null, action: null },
};

/** Returns what standing by needs. `opened` closes it. */
export function createStandby(parts: RoleParts, database: SharedDatabase, opened: AsyncDisposableStack): Standby {
  const { settings, replica, ambiguityOf, audit, seen, clock, log, metrics } = parts;
  const { repository, store, shown, streams } = replica;
  const { deleteBudget } = settings.execution;
  let present: StandbyFollower | undefined;
  const notReadyReason = (): string => present?.notReadyReason ?? 'it is becoming the leader';
  const { views, stallsOf, reader, explainer } = wireReads({
    ...{ ...shown, source: repository.source, clock, log, deleteBudget },
    notReadyReason,
  });
  const name = settings.replica.name;
  const { lease } = database;
  const lag = (): Outage | undefined => present?.failure;
  const progress = progressReads({
    ...{ ...views, stallsOf, waitOf: () => KNOWN_TO_LEADER, checkFailureOf: () => undefined, lag },
    leader: () => lease.leader() ?? null,
  });
  const { identity, find } = database.peers;
  const findLeader = async () => {
    const leader = lease.leader();
    return leader && (await find(leader));
  };
  const link = opened.adopt(new LeaderLink({ identity, find: findLeader }), (it) => it.close());
  const handler = createStandbyApp({
    ...{ reader, explainer, streams, replica: name, ambiguityOf, audit, seen, clock, log, metrics },
    proxyReads: settings.api.proxyReads,
    requestsPerSecond: settings.api.requestsPerSecond,
    dashboard: dashboardAddress(settings.management),
    operator: { ...progress, ...recordReads(views) },
    leader: {
      isKnown: () => lease.leader() !== undefined,
      lag,
      open: (question) => link.open(question),
      // Without a standby follower, rows of another desired state are refused, and so is what waits for them.
      refresh: () => (present === undefined ? store.refresh() : present.catchUp()),
      shows: (commit) => isShown(parts, commit),
    },
  });
  return {
    ...{ handler, reader, stopWaiting: async () => link.stop() },
    leads: () => `not leading: ${leaderOf(database)}`,
    notReadyReason,
    begin: () => undefined,
    // The leader polls.
    poll: () => undefined,
    start() {
      present = new StandbyFollower(partsToFollow(parts));
      present.start();
    },
    async stop() {
      const ending = present;
      present = undefined;
      await ending?.stop();
    },
  };
}

/** Returns what showing the rows of the leader needs of these parts. */
export function partsToFollow({ replica, clock, log }: RoleParts): StandbyFollowerOptions {
  const { repository, store, shown, breathe } = replica;
  return { ...shown, refresh: () => store.refresh(), source: repository.source, clock, log, breathe };
}

async function isShown({ replica }: RoleParts, commit: string): Promise<boolean> {
  const followed = replica.shown.current.get()?.commit;
  if (followed === undefined || followed === commit) return followed === commit;
  const { source } = replica.repository;
  return (await source.has(commit)) && (await source.isAncestor(commit, followed));
}

function leaderOf({ lease }: SharedDatabase): string {
  const leader = lease.leader();
  if (leader !== undefined) return `${leader.name} leads since ${leader.since}`;
  return lease.failure === undefined ? 'no replica leads' : `no replica is known to lead: ${lease.failure}`;
}
