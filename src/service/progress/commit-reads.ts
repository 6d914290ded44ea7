// The reads of the history of commits: a list, and one commit with its effect. A limited client sees the commits that
// change an instance that it sees, and counts of such instances. docs/rest.md, operations.
import { type Clock, systemClock, within } from '../../base/clock.ts';
import { compareNames } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import type { CommitCounts, CommitRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Plan } from '../../plan/plan.ts';
import type { Commit } from '../../repository/source.ts';
import { Scope } from '../scope.ts';
import { activeView, type ViewSources } from '../views.ts';
import { seesOthers } from './why.ts';

/** A commit of the history, as a client sees it. */
export interface ListedCommit
  extends Pick<CommitRow, 'state' | 'time' | 'subject' | 'committed' | 'signature' | 'reason' | 'done'> {
  readonly commit: string;
  /** Null: the client does not see persons. */
  readonly author: string | null;
  readonly servers: Omit<CommitCounts, 'records'>;
  /** Nodes whose record changes, without created and deleted servers. */
  readonly records: number;
  /** The first 20 of those that it changes, sorted. */
  readonly instances: readonly string[];
  /** An operator has approved something that it asked for. */
  readonly approved: boolean;
}

/** A part of the history, newest first. */
export interface CommitPage {
  readonly commits: readonly ListedCommit[];
  readonly total: number;
  /** The commit after which the next part begins; null where this is the last one. */
  readonly next: string | null;
}

/** The commits that are asked for. */
export interface CommitQuery {
  /** Only those that change it; null: all. */
  readonly instance: string | null;
  /** Empty: in every state. */
  readonly states: readonly CommitRow['state'][];
  /** Empty: from the newest on. */
  readonly after: string;
  readonly limit: number;
}

type ShownPlan = Omit<Plan, 'base' | 'head' | 'digest'>;

/** A commit with its effect. */
export interface CommitDetails extends ListedCommit {
  readonly base: string | null;
  /** The message without its first line. */
  readonly body: string;
  /** Null: the local copy does not have one of the commits any more, the plan is too large, or is not shown to proxies. */
  readonly plan: ShownPlan | null;
  /** How many entries the plan lacks; omitted: none. */
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
  /** Asks git; null for a commit that is lost. */
  readonly describe: (commit: string) => Promise<Commit | null>;
  /** Returns the effect of a commit; null if one of the two is lost. */
  readonly planOf: (order: {
    readonly base: string | null;
    readonly head: string;
    readonly isShown: ((node: string) => boolean) | undefined;
  }) => Promise<Plan | null>;
}

const PREFIX_MIN = 7;
const INSTANCES_SHOWN = 20;
/** Servers and records of a commit that is planned, and entries of each list of its plan. */
const CHANGES_MAX = 20_000;
const ENTRIES_MAX = 1_000;
const PLAN_MS = 20_000;

/** Returns the reads of the history, for each client as far as it sees it. */
export function commitReads(options: CommitSources, clock: Clock = systemClock) {
  return {
    /** Returns a part of the history. Throws `not_found` if it does not have `after`. */
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
      const { row, commit, isOpen } = found;
      const message = isOpen ? (await options.describe(commit))?.message : undefined;
      const planned = by.role === 'proxy' ? { plan: null } : await planIn(by, found, { options, clock });
      const body =
        message
          ?.trimStart()
          .replace(/^.*\n?/, '')
          .trim() ?? '';
      return { ...listed(found), base: row.base, body, ...planned, approvals: approvalsIn(by, row, options) };
    },
  };
}

/** A commit as far as a client sees it. */
interface SeenCommit {
  readonly commit: string;
  readonly row: CommitRow;
  /** The client sees persons, and everything of the commit. */
  readonly isOpen: boolean;
}

/** Returns the commits that a client sees, newest first, each with the counts that it sees. */
function seenCommits(by: Client, options: CommitSources): readonly SeenCommit[] {
  const { rows } = activeView(options);
  const scope = new Scope(by, options);
  const isOpen = by.role !== 'proxy' && scope.isWhole;
  return [...rows.list('commit')]
    .sort(([a, one], [b, other]) => compareNames(other.time, one.time) || compareNames(a, b))
    .flatMap(([commit, row]): readonly SeenCommit[] => {
      if (scope.isWhole) return [{ commit, row, isOpen }];
      const counts = Object.entries(row.counts).filter(([name]) => name !== '' && scope.seesInstance(name));
      return counts.length === 0 ? [] : [{ commit, row: { ...row, counts: Object.fromEntries(counts) }, isOpen }];
    });
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

function listed({ commit, row, isOpen }: SeenCommit): ListedCommit {
  const { state, time, subject, committed, signature, reason, done, author, counts, approvals } = row;
  const sum = (field: keyof CommitCounts): number => Object.values(counts).reduce((all, one) => all + one[field], 0);
  const names = Object.keys(counts).filter((name) => name !== '');
  return {
    commit,
    subject,
    author: isOpen ? author : null,
    committed,
    time,
    state,
    reason,
    signature: isOpen ? signature : null,
    servers: { created: sum('created'), updated: sum('updated'), replaced: sum('replaced'), deleted: sum('deleted') },
    records: sum('records'),
    instances: names.sort(compareNames).slice(0, INSTANCES_SHOWN),
    done,
    approved: approvals.length > 0,
  };
}

function approvalsIn(by: Client, { approvals }: CommitRow, options: CommitSources): CommitDetails['approvals'] {
  const { desired } = activeView(options);
  const scope = new Scope(by, options);
  const seen = approvals.filter(({ instance }) => scope.isWhole || (instance !== null && scope.seesInstance(instance)));
  return seen.map(({ by: client, reason, time, instance, servers }) => ({
    time,
    reason,
    instance,
    ...(client !== null && seesOthers(by, client)
      ? { client, clientName: desired.clients.get(client)?.entry.object?.description ?? null }
      : { client: null, clientName: null }),
    servers: servers.filter((name) => scope.isWhole || scope.seesServer(name)),
  }));
}

type PlannedDetails = Pick<CommitDetails, 'plan' | 'planLeftOut'>;

async function planIn(
  by: Client,
  { commit, row, isOpen }: SeenCommit,
  { options, clock }: { readonly options: CommitSources; readonly clock: Clock },
): Promise<PlannedDetails> {
  const { counts, base } = options.rows.read('commit', commit) ?? row;
  const size = Object.values(counts)
    .flatMap((each) => Object.values(each))
    .reduce((sum, count) => sum + count, 0);
  if (size > CHANGES_MAX) return { plan: null, planLeftOut: size };
  const scope = new Scope(by, options);
  const isShown = isOpen ? undefined : (node: string): boolean => scope.seesNode(node);
  const plan = await within(clock, PLAN_MS, options.planOf({ base, head: commit, isShown }));
  if (plan === undefined) throw new ServiceError('not_ready', 'The commit is still being compared: ask again');
  return plan === null ? { plan } : shortened(isOpen ? plan : limited(plan, scope));
}

/** Messages of problems quote files, and holds count hidden servers: a limited client sees neither. */
function limited(plan: Plan, scope: Scope): Plan {
  return {
    ...plan,
    access: plan.access.filter(({ serial }) => scope.seesClient(serial)),
    safety: plan.safety.filter(({ object }) => scope.seesObject(object)),
    invalid: plan.invalid.filter((name) => scope.seesInstance(name)),
    problems: [],
    knownProblems: 0,
    held: null,
  };
}

function shortened({ base: _base, head: _head, digest: _digest, ...plan }: Plan): PlannedDetails {
  let leftOut = 0;
  const cut = <Item>(list: readonly Item[]): readonly Item[] => {
    leftOut += Math.max(0, list.length - ENTRIES_MAX);
    return list.slice(0, ENTRIES_MAX);
  };
  const shown: ShownPlan = {
    ...plan,
    access: cut(plan.access),
    safety: cut(plan.safety),
    changes: cut(plan.changes),
    retained: cut(plan.retained),
    nodes: cut(plan.nodes),
    configuration: cut(plan.configuration),
    invalid: cut(plan.invalid),
    problems: cut(plan.problems),
  };
  return { plan: shown, ...(leftOut > 0 && { planLeftOut: leftOut }) };
}
