// The reads of the history of commits: a list, and one commit with its effect. Limited clients and proxies see no
// commits: a commit names objects of others, and rights may have changed since. docs/rest.md, operations.
import { type Clock, systemClock, within } from '../../base/clock.ts';
import { compareNames } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import type { CommitCounts, CommitRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Plan } from '../../plan/plan.ts';
import type { Commit } from '../../repository/source.ts';
import { Scope } from '../scope.ts';
import { activeView, type ViewSources } from '../views.ts';

/** A commit of the history, as a client sees it. */
export interface ListedCommit
  extends Pick<CommitRow, 'state' | 'time' | 'subject' | 'committed' | 'signature' | 'reason' | 'done'> {
  readonly commit: string;
  readonly author: string;
  readonly servers: Omit<CommitCounts, 'records'>;
  /** The number of nodes whose record changes, except created and deleted servers. */
  readonly records: number;
  /** The first 20 changed instances, sorted. */
  readonly instances: readonly string[];
  /** True if an operator approved a change of this commit. */
  readonly approved: boolean;
}

/** A part of the history, newest first. */
export interface CommitPage {
  readonly commits: readonly ListedCommit[];
  readonly total: number;
  /** The commit after which the next page begins; null on the last page. */
  readonly next: string | null;
}

/** The requested commits. */
export interface CommitQuery {
  /** Only commits that change this instance; null: all. */
  readonly instance: string | null;
  /** Empty: every state. */
  readonly states: readonly CommitRow['state'][];
  /** Empty: begin at the newest commit. */
  readonly after: string;
  readonly limit: number;
}

type ShownPlan = Omit<Plan, 'base' | 'head'>;

/** A commit with its effect. */
export interface CommitDetails extends ListedCommit {
  readonly base: string | null;
  /** The message without its first line. */
  readonly body: string;
  /** Null if the local copy no longer has one of the commits, or the plan is too large. */
  readonly plan: ShownPlan | null;
  /** The number of servers and records that change, if there are too many for a plan; omitted otherwise. */
  readonly planLeftOut?: number;
  readonly approvals: readonly {
    readonly time: string;
    readonly client: string | null;
    readonly clientName: string | null;
    readonly reason: string;
    readonly instance: string | null;
    readonly servers: readonly string[];
  }[];
}

/** The sources of the history. */
export interface CommitSources extends ViewSources {
  /** Reads the commit from git; null for a lost commit. */
  readonly describe: (commit: string) => Promise<Commit | null>;
  /** Returns the effect of a commit; null if one of the two is lost. */
  readonly planOf: (order: { readonly base: string | null; readonly head: string }) => Promise<Plan | null>;
}

const PREFIX_MIN = 7;
const INSTANCES_SHOWN = 20;
/** The limit of changed servers and records for a plan. */
const CHANGES_MAX = 2_000;
const PLAN_MS = 20_000;

/** Returns the reads of the history. */
export function commitReads(options: CommitSources, clock: Clock = systemClock) {
  return {
    /** Returns a page of the history. Throws `not_found` if the history does not contain `after`. */
    commits(by: Client, { instance, states, after, limit }: CommitQuery): CommitPage {
      const seen = seenCommits(by, options).filter(
        ({ row }) =>
          (states.length === 0 || states.includes(row.state)) &&
          (instance === null || Object.hasOwn(row.counts, instance)),
      );
      const from = after === '' ? 0 : seen.findIndex(({ commit }) => commit === after) + 1;
      if (after !== '' && from === 0) throw unknownCommit(after);
      const page = seen.slice(from, from + limit);
      const next = seen.length > from + limit ? (page.at(-1)?.commit ?? null) : null;
      return { commits: page.map((one) => listed(one)), total: seen.length, next };
    },
    /** Resolves with a commit by its id, or by the first seven digits of it or more. */
    async commit(by: Client, id: string): Promise<CommitDetails> {
      const found = findCommit(seenCommits(by, options), id);
      const { row, commit } = found;
      const message = (await options.describe(commit))?.message;
      const planned = await planIn(found, options, clock);
      const body =
        message
          ?.trimStart()
          .replace(/^.*\n?/, '')
          .trim() ?? '';
      return { ...listed(found), base: row.base, body, ...planned, approvals: approvalsIn(row, options) };
    },
  };
}

interface SeenCommit {
  readonly commit: string;
  readonly row: CommitRow;
}

/** Returns the commits that a client sees, newest first. */
function seenCommits(by: Client, options: CommitSources): readonly SeenCommit[] {
  if (!new Scope(by, options).seesClients) return [];
  return [...activeView(options).rows.list('commit')]
    .map(([commit, row]) => ({ commit, row }))
    .sort((a, b) => compareNames(b.row.time, a.row.time) || compareNames(a.commit, b.commit));
}

function findCommit(commits: readonly SeenCommit[], id: string): SeenCommit {
  const isPrefix = /^[0-9a-f]+$/.test(id) && id.length >= PREFIX_MIN;
  const message = `A commit is named by its id, or by the first ${PREFIX_MIN} digits of it or more, not "${id}"`;
  if (!isPrefix) throw new ServiceError('invalid_input', message);
  const [found, second] = commits.filter(({ commit }) => commit.startsWith(id));
  if (found === undefined) throw unknownCommit(id);
  if (second === undefined) return found;
  throw new ServiceError('invalid_input', `Several commits begin with "${id}": give more digits`);
}

function unknownCommit(id: string): ServiceError {
  return new ServiceError('not_found', `The history of commits has no "${id}"; it has the newest 1,000`);
}

function listed({ commit, row }: SeenCommit): ListedCommit {
  const { state, time, subject, committed, signature, reason, done, author, counts, approvals } = row;
  const sum = (field: keyof CommitCounts): number => Object.values(counts).reduce((all, one) => all + one[field], 0);
  const names = Object.keys(counts).filter((name) => name !== '');
  return {
    commit,
    subject,
    author,
    committed,
    time,
    state,
    reason,
    signature,
    servers: { created: sum('created'), updated: sum('updated'), replaced: sum('replaced'), deleted: sum('deleted') },
    records: sum('records'),
    instances: names.sort(compareNames).slice(0, INSTANCES_SHOWN),
    done,
    approved: approvals.length > 0,
  };
}

function approvalsIn({ approvals }: CommitRow, options: CommitSources): CommitDetails['approvals'] {
  const { clients } = activeView(options).desired;
  return approvals.map(({ by: client, ...approval }) => {
    const clientName = client === null ? null : (clients.get(client)?.entry.object?.description ?? null);
    return { ...approval, client, clientName };
  });
}

type PlannedDetails = Pick<CommitDetails, 'plan' | 'planLeftOut'>;

async function planIn({ commit, row }: SeenCommit, options: CommitSources, clock: Clock): Promise<PlannedDetails> {
  const { counts, base, state } = row;
  // The effect of a commit that is not followed was not counted. It is at most a change of all servers.
  const size =
    state === 'followed'
      ? Object.values(counts)
          .flatMap((one) => Object.values(one) as number[])
          .reduce((all, count) => all + count, 0)
      : options.rows.list('server').size;
  if (size > CHANGES_MAX) return { plan: null, planLeftOut: size };
  const plan = await within(clock, PLAN_MS, options.planOf({ base, head: commit }));
  if (plan === undefined) throw new ServiceError('not_ready', 'The commit is still being compared: try again');
  if (plan === null) return { plan };
  const { base: _base, head: _head, ...shown } = plan;
  return { plan: shown };
}
