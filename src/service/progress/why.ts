// Explains why an instance is not done. See docs/rest.md, stack instances.

import type { RefusedCommit } from '../../desired/desired-state.ts';
import type { Cycle } from '../../machine/chain.ts';
import { stateWithReason } from '../../machine/reasons.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../../machine/suspension.ts';
import { isNarrow } from '../../model/least-rights.ts';
import { PROXIED } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import { isError, type Problem } from '../../model/problem.ts';
import type { SilentEntry } from '../../reconcile/checks/entry-answers.ts';
import type {
  LeadingReplica,
  Outage,
  OutageName,
  Outages,
  ReplicaFacts,
  Since,
  StateCounts,
  UnfollowedCommit,
  WaitingItem,
  Why,
} from '../answers.ts';
import { instanceStatus, type StallsOf } from '../read/instance-views.ts';
import type { Scope } from '../scope.ts';
import type { PresentView, ProgressFacts, View } from '../views.ts';
import { heldReason, isApprovedAlready, withDeleted } from './held-items.ts';
import { type ToldOutage, tellOutages, tellSilent, tellUnheard } from './outages.ts';
import { resuming } from './recovery.ts';
import { type CallFacts, countStates, rootItem, serverItems, type WaitFacts } from './server-items.ts';

/** The sources of the answers. */
export interface WhyFacts extends Pick<WaitFacts, 'waitOf' | 'checkFailureOf' | 'calls'> {
  readonly view: View<ProgressFacts>;
  /** What the client sees. */
  readonly scope: Scope;
  readonly refused: RefusedCommit | undefined;
  readonly stallsOf: StallsOf;
  /** Returns the proxy that carries out the action of a server; undefined if none does. */
  readonly holderOf?: ((server: string) => CallHolder | undefined) | undefined;
  /** Returns the first mistakes of an instance. Omitted: they are looked for among all problems. */
  readonly mistakesOf?: (instance: string) => readonly Problem[];
  readonly outages?: Outages;
  /** See CurrentState. Omitted: it is not known. */
  readonly invalidSince?: ((instance: string) => Since | undefined) | undefined;
  /** Of the followed commit; null where that is not known. */
  readonly author?: string | null;
  /** Returns whether the settings have a provider entry of that name. Left out: it is not known. */
  readonly hasEntry?: ((name: string) => boolean) | undefined;
  readonly noticed?: Noticed | undefined;
}

/** What the process that leads has noticed, beside the rows. */
export interface Noticed extends CallFacts {
  /** Provider entries that answer nothing. */
  readonly silent: readonly SilentEntry[];
  /** Servers that wait for one another. */
  readonly cycles: readonly Cycle[];
  /**
   * Returns true if the last call of a server had no answer for such an entry, one that is about to be, or was one a
   * moment ago.
   */
  readonly isOfSilent: (server: string) => boolean;
  /**
   * Servers at rest whose checks fail: several in a row, or at once where a person asked for one; see `checkFailureOf`.
   */
  readonly unchecked: ReadonlySet<string>;
  /** Returns since when no proxy that manages servers with these tags is heard of; see ProxyPresence. */
  readonly unheardSince: (tags: readonly string[]) => number | null | undefined;
  /** What ends, and when: certificates and revocation lists. */
  readonly ending: readonly EndingCertificate[];
}

/** A certificate or a revocation list. */
export interface EndingCertificate {
  /** What it is about, as in the id of its item: `server`, `ca:<fingerprint>`, `crl`, `client:<serial>`. */
  readonly id: string;
  /** For a person: `the certificate of …`. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly begins: number;
  readonly ends: number;
  /** What a person does about it. */
  readonly action: string;
}

/** A proxy that carries out an action. */
export interface CallHolder {
  /** Serial of the client. */
  readonly client: string;
  /** When it was last heard of, RFC 3339 with milliseconds; null: not since the start of the controller. */
  readonly heard: string | null;
}

/** The sources of answers about the present moment. */
export interface PresentFacts extends WhyFacts {
  readonly view: PresentView<ProgressFacts>;
}

const ITEMS_MAX = 1_000;
/** So many mistakes of its files are named. */
const PROBLEMS_MAX = 20;
/** The text for a proxy in place of a message that quotes a file. */
export const WITHHELD = 'only administrators and automation endpoints are shown what is wrong here';

/** Who is told, which depends on the role and on how much it sees. */
export type Viewer = Pick<Client, 'role'> & Partial<Client>;

/** What is known of the replicas. */
export interface KnownReplicas {
  /** Undefined where the store is embedded. */
  readonly leader: LeadingReplica | null | undefined;
  readonly lag: Outage | undefined;
}

/** Returns what a client sees of the replicas. */
export function replicaFacts({ role }: Client, { leader, lag }: KnownReplicas): ReplicaFacts {
  if (role === 'proxy' || leader === undefined) return {};
  return lag === undefined ? { leader } : { leader, lag };
}

/** Returns why an instance that exists is not done, with at most `itemsMax` items. */
export function explainWaits(name: string, by: Client, facts: WhyFacts, itemsMax = ITEMS_MAX): Why {
  const { rows } = facts.view;
  const servers = rows.index.serversOf(name);
  const whole = [
    ...[...recovery(facts.view), ...suspensions(name, by, facts.view)],
    ...[...hold(name, facts.view), ...mistakes(name, by, facts)],
  ];
  const newest = unfollowed(by, facts.refused);
  if (newest !== null) whole.push(notFollowed(newest));
  if (by.role !== 'proxy') whole.push(...outagesOf(servers, facts));
  const waits = waitFactsFor(by, facts);
  const items = serverItems(servers, waits, itemsMax);
  const waiting = [...whole, ...items].slice(0, itemsMax);
  const counts = countStates(servers, rows);
  return {
    status: instanceStatus(facts.view, name, facts.stallsOf),
    summary: summarize(
      waiting[0] && rootItem(waiting[0], waits),
      counts,
      (server) => rows.server(server)?.instance === name,
    ),
    counts,
    waiting,
  };
}

/**
 * Returns what the items of servers are made of. The row of a server that the client does not see is missing: it has
 * values and reasons.
 */
export function waitFactsFor(by: Client, facts: WhyFacts): WaitFacts {
  const { waitOf, checkFailureOf, holderOf, scope, view } = facts;
  const showsValues = by.role !== 'proxy';
  const proxyWords = (server: string): string | undefined => holderWords(holderOf?.(server), by, facts);
  const rows = { server: (name: string) => (scope.seesServer(name) ? view.rows.server(name) : undefined) };
  const calls = showsValues ? facts.calls : undefined;
  return { rows, waitOf, checkFailureOf, proxyWords, calls, showsValues };
}

/** Returns a function that returns the first mistakes of an instance, as {@link mistakesIn} finds them. */
export function mistakesByInstance({ problems }: ProgressFacts): (instance: string) => readonly Problem[] {
  const found = new Map<string, Problem[]>();
  for (const problem of problems.filter(isError)) {
    for (const instance of new Set(problem.instances)) {
      const own = found.get(instance) ?? [];
      if (own.length < PROBLEMS_MAX) found.set(instance, [...own, problem]);
    }
  }
  return (instance) => found.get(instance) ?? [];
}

function recovery({ rows }: View<ProgressFacts>): WaitingItem[] {
  const row = rows.read('recovery', RECOVERY);
  if (row === undefined) return [];
  const reason = `a recovery suspends every instance: ${row.reason}`;
  return [{ resource: null, state: 'Suspended', reason, since: row.since, until: null, action: resuming(row) }];
}

function suspensions(name: string, by: Client, { desired, rows, now }: View<ProgressFacts>): WaitingItem[] {
  return [name, EVERY_INSTANCE].flatMap((key): WaitingItem[] => {
    const row = rows.read('suspension', key);
    if (row === undefined || suspendedUntil(row, now) === undefined) return [];
    const what = key === EVERY_INSTANCE ? 'every instance' : name;
    const who = personFor(by, row.by, desired);
    const reason = `${who} suspended ${what}${row.reason === '' ? '' : `: ${row.reason}`}`;
    const action = `treeline resume ${key === EVERY_INSTANCE ? '--all' : name}`;
    return [{ resource: null, state: 'Suspended', reason, since: row.since, until: row.until, action }];
  });
}

/** Of other proxies, a proxy or a limited client learns only that they exist. */
function holderWords(holder: CallHolder | undefined, by: Client, { view }: WhyFacts): string | undefined {
  if (holder === undefined) return undefined;
  const description = view.desired.clients.get(holder.client)?.entry.object?.description ?? '';
  const name = description === '' ? holder.client : `${description} (${holder.client})`;
  const who = seesOthers(by, holder.client) ? `the proxy ${name}` : 'a proxy';
  const heard =
    holder.heard === null ? 'not heard of since the start of the controller' : `last heard of at ${holder.heard}`;
  return `${who}, ${heard},`;
}

/** Returns true if a client sees who another client is. Proxies and limited clients know themselves only. */
export function seesOthers(by: Viewer, serial: string | null): boolean {
  return (by.role !== 'proxy' && !isNarrow(by)) || (by.serial !== undefined && by.serial === serial);
}

/**
 * Returns the description of the client with this serial, else the serial. Limited clients with equal limits share
 * answers.
 */
export function personFor(by: Viewer, serial: string | null, { clients }: ProgressFacts): string {
  if (by.role === 'proxy' || isNarrow(by)) return 'an administrator';
  if (serial === null) return 'the operator';
  const description = clients.get(serial)?.entry.object?.description ?? '';
  return description === '' ? `the client ${serial}` : `${description} (${serial})`;
}

function hold(name: string, { rows }: View<ProgressFacts>): WaitingItem[] {
  const row = rows.read('held', name);
  if (row === undefined) return [];
  const reason = withDeleted(heldReason(row, rows), row.servers);
  const action = isApprovedAlready(row, rows) ? null : `treeline approve ${row.digest}`;
  return [{ resource: null, state: 'Awaiting approval', reason, since: row.since, until: null, action }];
}

function mistakes(name: string, by: Client, { view: { desired }, mistakesOf, invalidSince }: WhyFacts): WaitingItem[] {
  if (!desired.invalid.has(name)) return [];
  const since = invalidSince?.(name)?.since ?? null;
  const problems = mistakesOf?.(name) ?? mistakesIn(desired, name);
  return problems.map((problem): WaitingItem => {
    const action = correcting(problem, desired);
    return { resource: null, state: 'Invalid', reason: problemText(problem, by), since, until: null, action };
  });
}

function mistakesIn({ problems }: ProgressFacts, name: string): readonly Problem[] {
  return problems.filter((one) => isError(one) && one.instances?.includes(name)).slice(0, PROBLEMS_MAX);
}

/**
 * Folders may have any name, also one that reads like a command; who is told what to do pastes it. The reason names
 * such a file.
 */
const PLAIN_PATH = /^[\p{L}\p{N}._/-]+$/u;

/** Returns what helps against a mistake. */
export function correcting({ file }: Problem, { places }: Pick<ProgressFacts, 'places'>): string {
  return `${places.has(file) ? 'correct' : 'bring back'} ${PLAIN_PATH.test(file) ? file : 'that file'}, and push`;
}

/** Returns the text of a problem. Messages quote what stands in a file, and that a proxy is not shown. */
export function problemText({ file, line, column, message, hint, code }: Problem, by: Viewer): string {
  const what = by.role === 'proxy' ? WITHHELD : `${message}${hint === null ? '' : ` (${hint})`}`;
  return `${file}:${line}:${column}: ${what} [${code}]`;
}

/**
 * Returns the newest commit with the reason why it is not followed, as a client may see it; null where it is followed.
 */
export function unfollowed(by: Viewer, refused: RefusedCommit | undefined): UnfollowedCommit | null {
  if (refused === undefined) return null;
  const { commit, hold: held, since } = refused;
  const isShown = held !== null || (by.role !== 'proxy' && !isNarrow(by));
  const reason = isShown ? refused.reason : WITHHELD;
  return { commit, reason, since, action: releaseOf(refused) };
}

function releaseOf({ commit, hold: held }: RefusedCommit): string {
  if (held === null) return 'treeline problems; correct that, then push';
  const accept = held.kind === 'history' ? `treeline accept-history ${commit}` : `treeline approve ${held.digest}`;
  return held.check === undefined ? accept : `${held.check}; if it is meant: ${accept}`;
}

function notFollowed({ commit, reason, since, action }: UnfollowedCommit): WaitingItem {
  const words = `the newest commit ${commit} is not followed: ${reason}`;
  return { resource: null, state: 'Not followed', reason: words, since, until: null, action };
}

/** Those that keep everything from continuing. The others are told to nobody who asks of an instance. */
const STOPPING: readonly OutageName[] = ['store', 'repository'];

/**
 * Returns what is away that an instance with these servers depends on, also where all of them are done: nothing would
 * tell otherwise.
 */
function outagesOf(servers: readonly string[], { view: { rows }, outages, noticed, waitOf }: WhyFacts): WaitingItem[] {
  const told = [...tellOutages(outages, STOPPING)];
  const own = new Set(servers);
  const silent = new Map(noticed?.silent.map((entry) => [entry.entry, entry]));
  for (const [name, entry] of silent) {
    // Servers that were never made, or wait for their turn, need the entry too.
    const isNeeded =
      entry.servers.values().some((server) => own.has(server)) ||
      servers.some((server) => rows.server(server)?.provider === name || waitOf(server)?.provider === name);
    if (isNeeded) told.push(tellSilent(entry));
  }
  const unheard = new Map<string, ToldOutage>();
  for (const name of servers) {
    const { provider = null, proxyTags = [] } = rows.server(name) ?? {};
    const last = provider === PROXIED ? noticed?.unheardSince(proxyTags) : undefined;
    if (last !== undefined) unheard.set(proxyTags.join(), tellUnheard(proxyTags, last));
  }
  return [...told, ...unheard.values()].map(({ reason, since, action }): WaitingItem => {
    return { resource: null, state: 'Outage', reason, since, until: null, action };
  });
}

function summarize(first: WaitingItem | undefined, counts: StateCounts, isOwn: (server: string) => boolean): string {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const open = total - (counts.done ?? 0);
  const all = total === 0 ? 'it has no servers' : `all ${total} servers are done`;
  if (first === undefined) return total === 1 ? 'its server is done' : all;
  if (first.resource === null) return open === 0 ? first.reason : `${first.reason}; servers that are not done: ${open}`;
  const others = open - (isOwn(first.resource) ? 1 : 0);
  const rest = others > 0 ? `; others that are not done: ${others}` : '';
  return `${first.resource} is ${stateWithReason(first.state, first.reason)}${rest}`;
}
