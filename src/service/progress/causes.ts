// Finds the causes that need an operator: one cause, however many servers and instances it affects. The attention list,
// `why`, the log, metrics and notifications show these causes with these words.
// docs/concepts.md, what needs an operator.
import { countOf, firstNames, toRfc3339 } from '../../base/wording.ts';
import type { DesiredState, RefusedCommit } from '../../desired/desired-state.ts';
import { breakingCommand, cycleReason } from '../../machine/chain.ts';
import { reasonText, stateWithReason } from '../../machine/reasons.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { tagWords } from '../../machine/responsibility.ts';
import { compareNames } from '../../model/names.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { AttentionKind, Cause, HeldItem, OutageName, Outages, UnfollowedCommit } from '../answers.ts';
import type { Scope } from '../scope.ts';
import { dueFrom } from './clients-seen.ts';
import type { Facts } from './facts.ts';
import { heldItems, isApprovedAlready } from './held-items.ts';
import { adviceFor, silentWords, uncheckedWords } from './server-items.ts';

/** The causes that a client sees, unsorted. */
export interface Causes {
  readonly causes: readonly Cause[];
  /** Ids of lasting causes whose servers are all part of another cause. */
  readonly covered: ReadonlySet<string>;
}

type Named = ReadonlyMap<string, readonly string[]>;

const NO_SERVERS: Cause['servers'] = { count: 0, examples: [] };
const EXAMPLES_MAX = 5;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns all causes that a client sees. */
export function causesOf(facts: Facts): Causes {
  const found = new Map(outerCauses(facts).map((cause) => [cause.id, cause]));
  const covered = new Set<string>();
  const explained = facts.scope.isProxy ? new Set<string>() : explainedServers(facts);
  for (const [id, names] of [...facts.view.rows.index.needingOperator(), ...uncheckedServers(facts)]) {
    if (found.has(id)) continue;
    const own = names.filter((name) => !explained.has(name) && facts.scope.seesServer(name));
    const [cause] = serversCause(id, own, facts);
    if (cause === undefined) covered.add(id);
    else found.set(id, cause);
  }
  const unapplied = facts.scope.isProxy ? [] : unappliedCauses(facts);
  return { causes: [...found.values(), ...unapplied], covered };
}

/** Returns the causes other than states of single servers, which `why` shows server by server. */
export function outerCauses(facts: Facts): readonly Cause[] {
  const shared = [
    ...recoveryCauses(facts),
    ...commitCauses(facts),
    ...heldCauses(facts),
    ...invalidCauses(facts),
    ...cycleCauses(facts),
  ];
  if (facts.scope.isProxy) return shared;
  return [
    ...shared,
    ...outageCauses(facts.outages),
    ...leaderCauses(facts),
    ...silentCauses(facts),
    ...orphanedCauses(facts),
    ...silentProxyCauses(facts),
    ...endingCauses(facts),
  ];
}

/** Every id is made here or in machine/attention.ts, and begins with one of these kinds. */
function kindIn(id: string): AttentionKind {
  return id.slice(0, id.indexOf(':')) as AttentionKind;
}

/** Returns a cause that concerns no instance in particular. */
function causeOf({ id, ...cause }: Pick<Cause, 'id' | 'reason' | 'since' | 'action'> & Partial<Cause>): Cause {
  return { id, kind: kindIn(id), instances: [], servers: NO_SERVERS, ...cause };
}

function recoveryCauses({ view: { rows } }: Facts): Cause[] {
  const row = rows.read('recovery', RECOVERY);
  if (row === undefined) return [];
  const { id, since, notBefore } = row;
  const reason = `a recovery suspends every instance: ${row.reason}`;
  const action =
    'check the results (treeline status), and adopt or retain the servers that wait; then, from ' +
    `${notBefore} on: treeline resume --recovery ${id}`;
  return [causeOf({ id: `recovery:${id}`, reason, since, action })];
}

/** The id has only the kind of the reason, so a later commit with the same kind continues the cause. */
function commitCauses({ scope, refused }: Facts): Cause[] {
  const newest = unfollowed(scope, refused);
  if (newest === null) return [];
  const { commit, since, action } = newest;
  const reason = `the newest commit ${commit} is not followed: ${newest.reason}`;
  return [causeOf({ id: `commit:${refused?.hold?.kind ?? 'wrong'}`, reason, since, action })];
}

/** Returns the newest commit and why it is not followed, limited to what a client may see; null if it is followed. */
export function unfollowed(scope: Scope, refused: RefusedCommit | undefined): UnfollowedCommit | null {
  if (refused === undefined) return null;
  const { commit, hold: held, since } = refused;
  const isShown = held !== null || scope.seesClients;
  const reason = isShown ? refused.reason : WITHHELD;
  return { commit, reason, since, action: releaseOf(refused) };
}

function releaseOf({ commit, hold: held }: RefusedCommit): string {
  if (held === null) return 'treeline problems; correct that, then push';
  const accept = held.kind === 'history' ? `treeline accept-history ${commit}` : `treeline approve ${held.digest}`;
  const first = held.check ?? (held.kind === 'history' ? undefined : `revert ${commit}`);
  return first === undefined ? accept : `${first}; if it is intended: ${accept}`;
}

/** Held instances and failed rollouts. {@link commitCauses} has the held commit. */
function heldCauses({ view: { rows }, refused, scope }: Facts): Cause[] {
  const held = heldItems(rows, refused, scope).filter(({ instance, kind }) => instance !== null || kind === 'failures');
  return held.map(({ digest, instance, kind, reason, since, resources, commit }: HeldItem) => {
    const owners = resources.flatMap((name) => rows.server(name)?.instance ?? []);
    const row = instance === null ? undefined : rows.read('held', instance);
    const approve = `treeline approve ${digest}; if that is not intended, revert ${commit ?? 'the commit that asks for it'}`;
    const isDelete = kind !== 'failures' && resources.length > 0;
    return causeOf({
      id: `held:${instance ?? digest}`,
      instances: instance === null ? [...new Set(owners)].sort(compareNames) : [instance],
      servers: { count: resources.length, examples: resources.slice(0, EXAMPLES_MAX) },
      reason: isDelete ? `${reason}; an approval deletes ${firstNames(resources)}` : reason,
      since,
      action: row !== undefined && isApprovedAlready(row, rows) ? null : approve,
    });
  });
}

/**
 * Instances whose first error is in the same file are one cause: a wrong template affects all instances that use it.
 */
function invalidCauses({ view: { desired }, invalidSince, scope }: Facts): Cause[] {
  const mistakes = firstMistakes(desired.problems);
  const seen = [...desired.invalid].filter((instance) => scope.seesInstance(instance)).sort(compareNames);
  const byFile = Map.groupBy(seen, (instance) => mistakes.get(instance)?.file ?? instance);
  return [...byFile].map(([about, instances]) => {
    const problem = mistakes.get(instances[0] ?? '');
    const [since = null] = instances.flatMap((instance) => invalidSince?.(instance) ?? []).sort();
    const whose = instances.length === 1 ? instances[0] : countOf(instances.length, 'instance');
    const text = problem === undefined ? '' : `: ${problemText(problem, scope)}`;
    return causeOf({
      id: `invalid:${about}`,
      instances,
      since,
      reason: `the newest version of ${whose} is wrong${text}`,
      action: problem === undefined ? null : correcting(problem, desired),
    });
  });
}

function firstMistakes(problems: readonly Problem[]): ReadonlyMap<string, Problem> {
  const found = new Map<string, Problem>();
  for (const problem of problems.filter(isError)) {
    for (const instance of problem.instances ?? []) if (!found.has(instance)) found.set(instance, problem);
  }
  return found;
}

/** Operators paste actions into a shell, and a folder's name may contain a command. The reason still has the name. */
const PLAIN_PATH = /^[\p{L}\p{N}._/-]+$/u;

function correcting({ file }: Problem, { places }: DesiredState): string {
  return `${places.has(file) ? 'correct' : 'bring back'} ${PLAIN_PATH.test(file) ? file : 'that file'}, and push`;
}

/** Replaces a message that quotes a file, for a proxy. */
export const WITHHELD = 'only administrators and automation endpoints may see the problem';

/** Messages quote files, and a proxy may not see their content. */
function problemText({ file, line, column, message, hint, code }: Problem, { isProxy }: Scope): string {
  const what = isProxy ? WITHHELD : `${message}${hint === null ? '' : ` (${hint})`}`;
  return `${file}:${line}:${column}: ${what} [${code}]`;
}

/** Servers that wait for one another until an operator lets one of them continue. */
function cycleCauses(facts: Facts): Cause[] {
  return (facts.noticed?.cycles ?? []).flatMap((cycle): Cause[] => {
    const names = cycle.map(({ server }) => server);
    if (!names.every((name) => facts.scope.seesServer(name))) return [];
    const words = { reason: cycleReason(cycle), action: breakingCommand(cycle) };
    return serversCause(`cycle:${names[0]}`, names, facts, words);
  });
}

interface OutageWords {
  readonly id: string;
  readonly means: string;
  readonly action: string;
}

const OUTAGES: Readonly<Record<OutageName, OutageWords>> = {
  store: {
    id: 'store:unsaved',
    means: 'nothing is saved, so nothing new begins',
    action: 'correct that; the store is tried again automatically',
  },
  repository: {
    id: 'repository:unread',
    means: 'the repository cannot be followed, and newer commits are not known',
    action: 'correct that; the repository is read again automatically',
  },
  programs: {
    id: 'programs:running',
    means: 'a program still runs after its call',
    action: 'end that process as root; its server continues after the deadline of the call and graceSeconds',
  },
  tls: {
    id: 'certificate:files',
    means: 'the new TLS files cannot be used: the earlier ones stay in force, and a restart would fail',
    action: 'correct them; they are read again automatically',
  },
  replicas: {
    id: 'replicas:differing',
    means: 'the replicas differ, or cannot reach the leader',
    action: 'give them the same version and settings; set replica.address',
  },
  statuses: {
    id: 'statuses:unsent',
    means: 'commit statuses are not sent',
    action: 'correct that; they are sent again automatically',
  },
  notifications: {
    id: 'notifications:unsent',
    means: 'a subscriber is not notified',
    action: 'correct that; further attempts follow automatically; to see them: treeline notifications',
  },
  audit: {
    id: 'audit:unwritten',
    means: 'the audit log loses lines',
    action: 'make room for it, or correct its path',
  },
};

function outageCauses(outages: Outages): Cause[] {
  return (Object.keys(OUTAGES) as readonly OutageName[]).flatMap((name) => {
    const outage = outages[name];
    const { id, means, action } = OUTAGES[name];
    if (outage === undefined) return [];
    return causeOf({ id, reason: `${means}: ${outage.reason}`, since: outage.since, action });
  });
}

function leaderCauses({ leader, lag, isUnled }: Facts): Cause[] {
  if (leader === null) {
    const reason = `no replica is known to lead, so nothing happens${lag === undefined ? '' : `: ${lag.reason}`}`;
    const action = 'start a replica, or restore its connection to the database';
    return [causeOf({ id: 'leader:none', reason, since: lag?.since ?? null, action })];
  }
  if (leader === undefined || isUnled === undefined) return [];
  const reason = `the leader "${leader.name}" does not answer this replica, so this replica does not know what needs an operator`;
  const action =
    'ask the leader directly; if this lasts, make sure that the replicas can reach one another (replica.address)';
  return [causeOf({ id: 'leader:silent', reason, since: null, action })];
}

function silentCauses(facts: Facts): Cause[] {
  return (facts.noticed?.silent ?? []).flatMap(({ entry, servers, ...silence }) => {
    const reason = `the provider entry "${entry}" ${silentWords(silence)}`;
    const action =
      'correct that, or its entry in the settings; its servers are tried again automatically, and at once ' +
      `with: treeline retry --provider ${entry}`;
    return serversCause(`provider:${entry}`, [...servers], facts, { reason, since: silence.since, action });
  });
}

/** Returns the names of servers by entry, for entries that are no longer in the settings. */
function orphanedServers({ view: { rows }, hasEntry }: Facts): Named {
  return hasEntry === undefined ? new Map() : rows.index.serversOfEntries((entry) => !hasEntry(entry));
}

function orphanedCauses(facts: Facts): Cause[] {
  return [...orphanedServers(facts)].flatMap(([entry, names]) => {
    const reason =
      `the provider entry "${entry}" is no longer in the settings, but it has servers: they are neither ` +
      'changed nor checked';
    const action = 'put it back under execution.providers, and start the controller again';
    return serversCause(`entry:${entry}`, names, facts, { reason, since: null, action });
  });
}

/** Returns the servers that the cause of their entry covers, so that they need no cause of their own. */
function explainedServers(facts: Facts): ReadonlySet<string> {
  const { rows } = facts.view;
  const isOrphaned = (name: string): boolean => rows.server(name)?.reason?.code === 'provider_changed';
  const orphaned = [...orphanedServers(facts).values()].flat().filter(isOrphaned);
  return new Set([...(facts.noticed?.silent ?? []).flatMap(({ servers }) => [...servers]), ...orphaned]);
}

/** Includes idle servers: only their proxies can check them. */
function silentProxyCauses(facts: Facts): Cause[] {
  const { view, noticed } = facts;
  if (noticed === undefined) return [];
  const needing = view.rows.index.needingOperator();
  const unheard = view.rows.index.serversOfProxies((tags) => noticed.silentSince(tags) !== undefined);
  return [...unheard].flatMap(([tags, names]) => {
    const id = `proxies:${tags.join(',')}`;
    const last = noticed.silentSince(tags) ?? null;
    const since = last === null ? null : toRfc3339(last);
    const what = since === null ? 'is registered' : `has asked for work since ${since}`;
    const reason = `no proxy ${tagWords(tags)} ${what}: its servers are neither changed nor checked`;
    const action =
      since === null
        ? 'register a proxy for them, and start it'
        : 'check that it runs, and that its certificate is valid; to see when it was last seen: treeline client list';
    return serversCause(id, [...new Set([...names, ...(needing.get(id) ?? [])])], facts, { reason, since, action });
  });
}

/** Sorted by end, latest first: if several certificates have one id, the one that ends first wins. */
function endingCauses({ view: { now }, noticed }: Facts): Cause[] {
  const due = (noticed?.ending ?? []).filter((one) => now >= dueFrom(one)).toSorted((a, b) => b.ends - a.ends);
  return due.map(({ id, name, begins, ends, action }) => {
    const days = Math.floor((ends - now) / DAY_MS);
    const left = now >= ends ? 'has ended' : days === 0 ? 'ends within a day' : `ends in ${countOf(days, 'day')}`;
    const since = toRfc3339(dueFrom({ begins, ends }));
    return causeOf({ id: `certificate:${id}`, reason: `${name} ${left}, at ${toRfc3339(ends)}`, since, action });
  });
}

/** Returns done servers whose checks fail, by cause: Treeline would not notice if one of them drifted or was gone. */
function uncheckedServers({ view: { rows }, noticed, checkFailureOf, scope }: Facts): Named {
  if (noticed === undefined || scope.isProxy) return new Map();
  const isFailing = (name: string): boolean =>
    rows.server(name)?.state === 'done' && checkFailureOf(name) !== undefined;
  const done = [...noticed.unchecked].filter(isFailing);
  return Map.groupBy(done, (name) => `unchecked:${rows.server(name)?.instance}`);
}

/** Nodes whose consumers could not apply their record: the server is done, but has an older configuration. */
function unappliedCauses({ view: { rows }, scope }: Facts): Cause[] {
  const unapplied = [...rows.list('delivery')].flatMap(([name, row]) => {
    const isPresent = row.incarnation === (rows.server(name)?.incarnation ?? 0);
    return row.outcome === 'failed' && isPresent && scope.seesNode(name) ? [{ name, ...row }] : [];
  });
  const byInstance = Map.groupBy(unapplied, ({ name }) => rows.server(name)?.instance);
  return [...byInstance].map(([instance, nodes]) => {
    const sorted = nodes.toSorted((a, b) => compareNames(a.name, b.name));
    const [{ name, message } = { name: '', message: '' }] = sorted;
    return causeOf({
      id: `unapplied:${instance ?? 'types/clientcert'}`,
      instances: instance === undefined ? [] : [instance],
      servers: { count: nodes.length, examples: sorted.slice(0, EXAMPLES_MAX).map((node) => node.name) },
      since: nodes.map(({ time }) => time).sort()[0] ?? null,
      reason: `${name} could not apply its record: ${message}${othersIn(nodes.length)}`,
      action: `treeline delivered${instance === undefined ? '' : ` ${instance}`}`,
    });
  });
}

type Words = Pick<Cause, 'reason' | 'action'> & Partial<Pick<Cause, 'since'>>;

/**
 * Returns the cause of these servers; none if none of them exists. `words`: default: the words for the first server.
 */
function serversCause(id: string, names: readonly string[], facts: Facts, words?: Words): Cause[] {
  const { rows } = facts.view;
  const sorted = names.filter((name) => rows.server(name) !== undefined).sort(compareNames);
  const known = sorted.flatMap((name) => rows.server(name) ?? []);
  const [[name], [row]] = [sorted, known];
  if (name === undefined || row === undefined) return [];
  return [
    causeOf({
      id,
      instances: [...new Set(known.map(({ instance }) => instance))].sort(compareNames),
      servers: { count: sorted.length, examples: sorted.slice(0, EXAMPLES_MAX) },
      since: known.map(({ since }) => since).reduce((a, b) => (a < b ? a : b)),
      ...(words ?? wordsOf(kindIn(id), { name, row, count: sorted.length }, facts)),
    }),
  ];
}

interface FirstServer {
  readonly name: string;
  readonly row: ServerRow;
  /** The number of servers of the cause. */
  readonly count: number;
}

function wordsOf(kind: AttentionKind, { name, row, count }: FirstServer, { checkFailureOf }: Facts): Words {
  const state = kind === 'failed' ? 'failed' : row.state;
  const action = adviceFor(name, { ...row, state }, count === 1 ? `--resource ${name}` : row.instance);
  if (kind === 'proxies') return { reason: `${row.reason?.text}; servers that wait for one: ${count}`, action };
  const failure = kind === 'unchecked' ? checkFailureOf(name) : undefined;
  if (failure !== undefined) {
    const reason = `${name}: ${uncheckedWords(failure)}${othersIn(count)}`;
    return { reason, since: toRfc3339(failure.since), action };
  }
  const isRetried = kind === 'failed' && row.state !== 'failed';
  const words = isRetried ? 'has failed, and is tried again' : row.state;
  const reason = stateWithReason(words, reasonText(row.reason));
  return { reason: `${name} ${isRetried ? '' : 'is '}${reason}${othersIn(count)}`, action };
}

function othersIn(count: number): string {
  return count === 1 ? '' : `; others: ${count - 1}`;
}
