// The operations on the controller itself: read what is held or wrong, approve, suspend, adopt, retry. Checks what is asked, has the rows
// changed that it concerns, and answers in a sentence. See docs/rest.md, operations.

import type { RunInSlices } from '../../base/slices.ts';
import { type Steps, sortNames, visitAll } from '../../base/steps.ts';
import { liftsIn } from '../../desired/deletions.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { problemsAndRemarks } from '../../desired/remarks.ts';
import { historyDigest } from '../../machine/hold-digests.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../../machine/suspension.ts';
import type { ToldWait } from '../../machine/wait.ts';
import { nameAt } from '../../model/address.ts';
import { isValidEntry } from '../../model/entry.ts';
import type { EventRange, InstanceEvent, ListedEvent, ListedRange } from '../../model/instance-event.ts';
import { isNarrow } from '../../model/least-rights.ts';
import { compareNames } from '../../model/names.ts';
import type { Client, Hierarchy } from '../../model/objects.ts';
import type { Problem } from '../../model/problem.ts';
import type { NotificationRow, ServerRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import { hasInstance, requireInstance, type StallsOf, unknownInstance } from '../read/instance-views.ts';
import { answerEach, type SeenPart } from '../seen-sources.ts';
import {
  activeView,
  heldView,
  type PresentView,
  type ProgressFacts,
  type View,
  type ViewSources,
  viewAtMoment,
} from '../views.ts';
import type {
  AttentionItem,
  AuthoredHold,
  ClientSeen,
  Delivered,
  HeldItem,
  InstanceEvents,
  LeadingReplica,
  ListedEvents,
  Order,
  Outage,
  Outages,
  Overview,
  RecordedServer,
  RecordedState,
  SentNotification,
  ServerDetails,
  ServerPage,
  ToldEvent,
  Why,
} from './answers.ts';
import { type ClientsSeen, listClients } from './clients-seen.ts';
import { type AskedCommit, findDelivered, formerUntils } from './delivered.ts';
import { type Deliveries, notOfNode } from './deliveries.ts';
import { heldItems } from './held-items.ts';
import { buildAttention, buildOverview } from './overview.ts';
import type { WaitFacts } from './server-items.ts';
import { describeOne, findServers, type ServerQuery } from './server-list.ts';
import { askedBy, requireOwn, type ServerOperationsOptions, serverOperations } from './server-operations.ts';
import {
  type CallHolder,
  explainWaits,
  type Noticed,
  type PresentFacts,
  replicaFacts,
  type WhyFacts,
  waitFactsFor,
} from './why.ts';

/** What answers of recorded things are made of. */
interface RecordOptions extends ViewSources {
  /** Asks git; see Source. */
  readonly isAncestor: (ancestor: string, descendant: string) => Promise<boolean>;
}

interface OperatorOptions extends ServerOperationsOptions, ProgressOptions, RecordOptions {
  readonly inSlices: RunInSlices;
  /** See Follower. */
  readonly isBefore: (commit: string, head: string) => Promise<boolean>;
  /** When clients were seen. Omitted: none was. */
  readonly seen?: Pick<ClientsSeen, 'of'> | undefined;
  readonly deliveries: Pick<Deliveries, 'confirm'>;
  /** Resolves with the name of the author of a commit; null where that cannot be read. */
  readonly authorOf: (commit: string) => Promise<string | null>;
}

/** What is known of the progress of instances beside the rows. */
interface ProgressOptions extends ViewSources {
  readonly stallsOf: StallsOf;
  /** Returns the wait of a server; undefined where it does not wait. */
  readonly waitOf: (server: string) => ToldWait | undefined;
  readonly invalidSince?: WhyFacts['invalidSince'];
  /** Returns the proxy that carries out the action of a server. Omitted: no proxy does. */
  readonly holderOf?: ((server: string) => CallHolder | undefined) | undefined;
  /** Returns how the checks of a server fail, once several have failed in a row; undefined otherwise. */
  readonly checkFailureOf: WaitFacts['checkFailureOf'];
  /** Returns the author of the followed commit; null where that is not known. Omitted: this process does not follow. */
  readonly followedAuthor?: () => string | null;
  /** Returns what fails outside. Omitted: this process does nothing outside. */
  readonly outages?: () => Outages;
  /** Returns whether the settings have a provider entry of that name. Omitted: it is not known. */
  readonly hasEntry?: WhyFacts['hasEntry'];
  /** Returns what this process has noticed. Omitted: it does not lead. */
  readonly noticed?: (() => Noticed) | undefined;
  /** Returns who leads, null where nobody is known to. Omitted: the store is embedded. */
  readonly leader?: (() => LeadingReplica | null) | undefined;
  /** Returns why this replica shows an earlier moment than the leader. Omitted: it leads. */
  readonly lag?: () => Outage | undefined;
}

/**
 * Every operation is durable when it resolves, and answers with a sentence for a person. All throw ServiceError:
 * `not_ready` before the first good commit, `not_found` for what is not there, `conflict` where there is nothing to do.
 */
export type Operator = ReturnType<typeof createOperator>;

/** Returns the operator. It tells each client of what that sees, and does something only there. */
export function createOperator(options: OperatorOptions) {
  return answerEach(options, (seen) => operatorOf(seen === undefined ? options : narrowed(options, seen), seen));
}

/** Returns what a client may know that sees a part of everything: nothing of the estate as a whole. */
function narrowed<Options extends ProgressOptions>(options: Options, seen: SeenPart): Options {
  const nothing = { outages: undefined, hasEntry: undefined, noticed: undefined, leader: undefined };
  const noAuthor = { followedAuthor: () => null, authorOf: async () => null };
  return { ...options, ...nothing, ...noAuthor, ...seen.sources, owns: (instance: string) => seen.view.owns(instance) };
}

function operatorOf(options: OperatorOptions, seen: SeenPart | undefined) {
  return {
    held: (): readonly HeldItem[] => heldIn(options),
    /** Resolves with what is held, and who has written the commits that ask for it. A proxy is told of no person. */
    heldWithAuthors: (by: Client): Promise<readonly AuthoredHold[]> => withAuthors(by, heldIn(options), options),
    ...progressOf(options),
    ...recordsOf(options),
    /** Returns the registered clients as a client may see them, and when each was seen last. */
    clients: (by: Client): readonly ClientSeen[] => clientsIn(by, options),
    /** Returns the problems of the newest commit, followed or not; of the followed one where the newest was not read. */
    problems: (_by?: Client): CommitProblems => problemsIn(options),
    ...approvals(options),
    ...suspensions(options),
    ...acknowledgements(options),
    /** Records what a consumer says of the record of a node; see Deliveries. */
    async confirm(...[caller, node, told]: Parameters<Deliveries['confirm']>): Promise<string> {
      if (seen !== undefined && !seen.view.seesNode(node)) throw notOfNode(node);
      return await options.deliveries.confirm(caller, node, told);
    },
    /** Returns work that lists all that needs a person, each with all of its instances; undefined before the first good commit. */
    attention: (): Steps<readonly AttentionItem[]> | undefined => (isShown(options) ? attentionOf(options) : undefined),
    ...serverOperations(options),
  };
}

/** Returns what tells each client of progress, as far as it sees it. */
export function progressReads(options: ProgressOptions) {
  return answerEach(options, (seen) => progressOf(seen === undefined ? options : narrowed(options, seen)));
}

/** Returns what tells of progress. `lag`, of the replica that was asked where it is another than this one. */
function progressOf(options: ProgressOptions) {
  return {
    /** The reasons why an instance is not done. A proxy is told where a file is wrong, and not what stands there. */
    why(by: Client, instance: string, lag = options.lag?.()): Why {
      const facts = whyFacts(options);
      requireInstance(facts.view, instance);
      return { ...explainWaits(instance, by, facts), ...replicaFacts(by, { leader: options.leader?.(), lag }) };
    },
    /** Returns work that finds the progress of all instances, and the followed commit. A proxy is told as little as by `why`. */
    overview: (by: Client, lag = options.lag?.()): Steps<Overview> =>
      buildOverview(by, { ...whyFacts(options), leader: options.leader?.(), lag }),
    /** Returns work that finds a page of servers. */
    servers(by: Client, query: ServerQuery): Steps<ServerPage> {
      const facts = whyFacts(options);
      if (query.instance !== null) requireInstance(facts.view, query.instance);
      return findServers(query, { ...waitFactsFor(by, facts), rows: facts.view.rows });
    },
    /** One server, with what is wanted of it and what was applied. */
    server(by: Client, name: string): ServerDetails {
      const facts = whyFacts(options);
      return describeOne(name, { ...waitFactsFor(by, facts), rows: facts.view.rows }, hierarchyIn(options.desired()));
    },
  };
}

/** Returns what needs the rows alone, for each client as far as it sees it: also a replica that does not lead has it. */
export function recordReads(options: RecordOptions) {
  return answerEach(options, (seen) => recordsOf({ ...options, ...seen?.sources }));
}

function recordsOf(options: RecordOptions) {
  const view = (): PresentView<ProgressFacts> => heldView(options) ?? activeView(options);
  return {
    /** Resolves with events of an instance, which may be gone already. A proxy is told of no other client than itself. */
    events: async (by: Client, instance: string, range: EventRange): Promise<InstanceEvents> =>
      await viewEvents({ by, instance, range }, view()),
    /** Resolves with events of several instances, or of all. */
    async listEvents(by: Client, range: ListedRange): Promise<ListedEvents> {
      const { events, isGap } = await options.rows.listEvents(range);
      return { events: events.map((event) => tellEvent(by, event)), gap: isGap };
    },
    /** Returns work that lists all recorded servers, for programs that compare a desired state with them. */
    recorded: (_by?: Client): Steps<RecordedState> => recordedIn(view(), heldIn(options)),
    /** Resolves with a commit as one that {@link findDelivered} asks for. Throws `not_found` where it is not followed. */
    async askedCommit(commit: string): Promise<AskedCommit> {
      const { desired, rows } = activeView(options);
      if (!(await options.isAncestor(commit, desired.commit)))
        throw new ServiceError('not_found', `The commit ${commit} is not followed, nor is one that comes after it`);
      const reached = new Set<string>();
      for (const until of formerUntils(rows.list('delivery').values()))
        if (await options.isAncestor(commit, until)) reached.add(until);
      return { commit, isReached: (until) => reached.has(until) };
    },
    /** Returns work that finds which nodes run the record that is asked for. */
    delivered(by: Client, query: Parameters<typeof findDelivered>[1]): Steps<Delivered> {
      const present = activeView(options);
      if (query.instance !== null) requireInstance(present, query.instance);
      return findDelivered(by, query, present);
    },
    /** Returns work that lists what subscribers were told, and are still to be; the oldest first. */
    notifications: (): Steps<{ readonly notifications: readonly SentNotification[] }> =>
      listNotifications([...options.rows.list('notification')]),
  };
}

function hierarchyIn(desired: DesiredState | undefined): Hierarchy | undefined {
  const entry = desired?.catalog.hierarchy;
  return entry !== undefined && isValidEntry(entry) ? entry.object : undefined;
}

function whyFacts(options: ProgressOptions): PresentFacts {
  const { stallsOf, waitOf, checkFailureOf, holderOf, invalidSince } = options;
  const refused = options.refused();
  const outside = {
    invalidSince,
    outages: options.outages?.() ?? {},
    hasEntry: options.hasEntry,
    noticed: options.noticed?.(),
    author: options.followedAuthor?.() ?? null,
  };
  const recorded = heldView(options);
  const shown = { refused, stallsOf, waitOf, checkFailureOf, holderOf, ...outside };
  if (recorded === undefined) return { view: activeView(options), isActive: true, ...shown };
  // No server is looked at before something is active, so nothing is known of its waits.
  const nothing = { stallsOf: () => undefined, waitOf: () => undefined, checkFailureOf: () => undefined };
  return { view: recorded, isActive: false, refused, ...outside, ...nothing };
}

/** So many commits are looked at for their authors. */
const AUTHORS_MAX = 20;

async function withAuthors(
  { role }: Client,
  items: readonly HeldItem[],
  { authorOf }: Pick<OperatorOptions, 'authorOf'>,
): Promise<readonly AuthoredHold[]> {
  const commits = role === 'proxy' ? [] : new Set(items.flatMap(({ commit }) => commit ?? []));
  const authors = new Map<string, string | null>();
  for (const commit of [...commits].slice(0, AUTHORS_MAX)) authors.set(commit, await authorOf(commit));
  return items.map((item) => ({ ...item, author: authors.get(item.commit ?? '') ?? null }));
}

function heldIn({ rows, refused }: Pick<ViewSources, 'rows' | 'refused'>): readonly HeldItem[] {
  return heldItems(rows, refused());
}

function clientsIn(by: Client, options: OperatorOptions): readonly ClientSeen[] {
  const { desired, rows } = activeView(options);
  const clients = [...desired.clients.values()].flatMap(({ entry }) => entry.object ?? []);
  return listClients(by, clients, (serial) => options.seen?.of(serial, rows));
}

interface CommitProblems {
  readonly commit: string;
  readonly problems: readonly Problem[];
}

/** Returns the problems of the newest commit; those of a commit that was not read, such as a rewritten history, are unknown. */
function problemsIn(options: OperatorOptions): CommitProblems {
  const refused = options.refused();
  if (refused !== undefined && refused.problems.length > 0) {
    const { commit, problems } = refused;
    return { commit, problems };
  }
  const { desired } = activeView(options);
  return { commit: desired.commit, problems: problemsAndRemarks(desired) };
}

function approvals(options: OperatorOptions) {
  /** An approval is for what is held when it is written. */
  function accept(order: Order, find: () => HeldItem): Promise<HeldItem> {
    return options.requests.approve(() => requireOwn(options, find()), askedBy(order));
  }

  return {
    /** Lets happen what is held under a digest. */
    async approve(order: Order, digest: string): Promise<string> {
      const item = await accept(order, () => {
        const held = heldIn(options).find((one) => one.digest === digest);
        if (held !== undefined) return held;
        const message = `Nothing is held under the digest "${digest}"; what is held may have changed: look at it again`;
        throw new ServiceError('not_found', message);
      });
      return item.instance === null ? `Approved: ${item.kind}` : `The deletes of ${item.instance} are approved`;
    },
    /** Follows a rewritten history, at exactly this commit. */
    async acceptHistory(order: Order, commit: string): Promise<string> {
      const head = heldHead(options);
      // The branch may have moved on since the person has read it.
      const isHeld = head === commit || (head !== undefined && (await options.isBefore(commit, head)));
      await accept(order, () => {
        const held = heldIn(options).find(({ kind }) => kind === 'history');
        if (isHeld && held !== undefined && heldHead(options) === head)
          return { ...held, digest: historyDigest(commit) };
        throw new ServiceError('not_found', `No rewritten history is held at the commit "${commit}"; give its full id`);
      });
      return `The history is accepted at ${commit}`;
    },
  };
}

/** Returns the newest commit, where it is held as one of a rewritten history. */
function heldHead({ refused }: OperatorOptions): string | undefined {
  const newest = refused();
  return newest?.hold?.kind === 'history' ? newest.commit : undefined;
}

interface Suspended {
  readonly instance: string | null;
  readonly until: string | null;
}

function suspensions(options: OperatorOptions) {
  const { rows, requests, now } = options;
  return {
    /** Starts no action of an instance, or of any where it is null, until it is resumed or until a time (RFC 3339). */
    async suspend(order: Order, { instance, until }: Suspended): Promise<string> {
      requireOwn(options, { instance });
      const view = activeView(options);
      if (instance !== null) requireInstance(view, instance);
      if (until !== null && Date.parse(until) <= view.now) {
        throw new ServiceError(
          'invalid_input',
          `"until" is ${until}, which is over: give a time that is still to come`,
        );
      }
      await requests.suspend(instance, { ...askedBy(order), until });
      return `${instance ?? 'Every instance'} is suspended ${until === null ? 'until a person resumes it' : `until ${until}`}`;
    },
    async resume(order: Order, instance: string | null): Promise<string> {
      requireOwn(options, { instance });
      if (suspendedUntil(rows.read('suspension', instance ?? EVERY_INSTANCE), now()) === undefined) {
        throw new ServiceError('conflict', `${instance ?? 'Everything as a whole'} is not suspended`);
      }
      await requests.resume(instance, askedBy(order));
      return `${instance ?? 'Every instance'} is resumed`;
    },
  };
}

function isShown(options: ViewSources): boolean {
  return options.desired() !== undefined || heldView(options) !== undefined;
}

function attentionOf(options: ProgressOptions): Steps<readonly AttentionItem[]> {
  return buildAttention({ ...whyFacts(options), leader: options.leader?.(), lag: options.lag?.() });
}

const ACKNOWLEDGED_DAYS_MAX = 30;
const DAY_MS = 86_400_000;

interface Acknowledged {
  readonly instance: string;
  /** RFC 3339; null: what was acknowledged is not any more. */
  readonly until: string | null;
}

function acknowledgements(options: OperatorOptions) {
  const { rows, requests, inSlices } = options;

  async function end(order: Order, instance: string): Promise<string> {
    const row = rows.read('acknowledgement', instance);
    if (row === undefined || Date.parse(row.until) <= options.now()) {
      throw new ServiceError('conflict', `Nothing of ${instance} is acknowledged`);
    }
    await requests.acknowledge(instance, { ...askedBy(order), until: null, kinds: [] });
    return `What needs a person of ${instance} is not acknowledged any more`;
  }

  return {
    /** Has what needs a person of an instance page nobody until a time: what is of a kind that concerns the instance now. */
    async acknowledge(order: Order, { instance, until }: Acknowledged): Promise<string> {
      const { view } = whyFacts(options);
      requireOwn(options, { instance });
      requireInstance(view, instance);
      if (until === null) return await end(order, instance);
      const ms = Date.parse(until) - view.now;
      if (ms <= 0 || ms > ACKNOWLEDGED_DAYS_MAX * DAY_MS) {
        const message = `"until" is ${until}: give a time that is still to come, within ${ACKNOWLEDGED_DAYS_MAX} days`;
        throw new ServiceError('invalid_input', message);
      }
      const items = await inSlices(attentionOf(options));
      const kinds = [...new Set(items.filter((item) => item.instances.includes(instance)).map(({ kind }) => kind))];
      if (kinds.length === 0) throw new ServiceError('conflict', `Nothing of ${instance} needs a person`);
      await requests.acknowledge(instance, { ...askedBy(order), until, kinds });
      return `What needs a person of ${instance} is acknowledged until ${until}: ${kinds.join(', ')}`;
    },
  };
}

interface Asked {
  readonly by: Client;
  readonly instance: string;
  readonly range: EventRange;
}

const ALL: EventRange = { after: 0, limit: Number.MAX_SAFE_INTEGER };

/** Resolves with the events; throws `not_found` where there is neither the instance nor an event of it. */
async function viewEvents({ by, instance, range }: Asked, view: PresentView<ProgressFacts>): Promise<InstanceEvents> {
  const isThere = hasInstance(view, instance);
  const [first] = (await view.rows.events(instance, { after: 0, limit: 1 })).events;
  if (!isThere && first === undefined) throw unknownInstance(view, instance);
  const { events: own, isGap } = await view.rows.events(instance, range);
  const after = Math.max(range.after, first?.id ?? 0);
  const { events: every } = await view.rows.events(EVERY_INSTANCE, { after, limit: range.limit });
  // Of one that is gone: what concerned every instance later did not concern it.
  const last = isThere ? undefined : (await view.rows.events(instance, ALL)).events.at(-1);
  const ofItsTime = every.filter(({ id }) => last === undefined || id < last.id);
  const page = [...own, ...ofItsTime].sort((a, b) => a.id - b.id).slice(0, range.limit);
  return { events: page.map((event) => shownTo(by, event)), gap: isGap };
}

/** Returns the instances to list events of: what concerns every instance concerns those that are named. Without a name: all. */
export function selectInstances(names: readonly string[]): ReadonlySet<string> | undefined {
  return names.length === 0 ? undefined : new Set([...names, EVERY_INSTANCE]);
}

/** Returns an event of any instance as a client is told of it. */
export function tellEvent(by: Asking, { instance, event }: ListedEvent): ToldEvent {
  return { ...shownTo(by, event), instance: instance === EVERY_INSTANCE ? null : instance };
}

type Asking = Pick<Client, 'role' | 'serial'> & Partial<Client>;

/** A proxy may read its own client record only, and who sees a part does not see who else acts there. */
function shownTo(by: Asking, event: InstanceEvent): InstanceEvent {
  return (by.role !== 'proxy' && !isNarrow(by)) || event.client === by.serial
    ? event
    : { ...event, client: null, clientName: null };
}

/**
 * Returns work that lists the recorded servers of the moment of this call, sorted by name. Records and actions under way are not
 * part of it.
 */
function recordedIn(view: View<{ readonly commit: string }>, held: readonly HeldItem[]): Steps<RecordedState> {
  return listServers(viewAtMoment(view), held);
}

function* listServers(
  moment: Steps<View<{ readonly commit: string }>>,
  held: readonly HeldItem[],
): Steps<RecordedState> {
  const { desired, rows } = yield* moment;
  const instances = new Set(rows.list('held').keys());
  const servers: RecordedServer[] = [];
  yield* visitAll(yield* sortNames([...rows.list('server').keys()]), (name) => {
    const row = rows.server(name);
    if (row !== undefined) servers.push(recordedServer(name, row, instances));
  });
  const lifted = [...liftsIn(rows.list('held'))].map(nameAt).sort(compareNames);
  const isBehind = rows.list('head').get('head')?.isBehind === true;
  return { commit: desired.commit, held, ...(isBehind ? { isBehind } : {}), lifted, servers };
}

function* listNotifications(
  rows: readonly (readonly [id: string, row: NotificationRow])[],
): Steps<{ readonly notifications: readonly SentNotification[] }> {
  const byName = new Map(rows.map(([id, row]) => [`${row.time} ${id}`, { id, row }]));
  const notifications: SentNotification[] = [];
  yield* visitAll(yield* sortNames([...byName.keys()]), (name) => {
    const found = byName.get(name);
    if (found === undefined) return;
    const { target, ...row } = found.row;
    notifications.push({ id: found.id, subscriber: target, ...row });
  });
  return { notifications };
}

function recordedServer(name: string, row: ServerRow, held: ReadonlySet<string>): RecordedServer {
  const { instance, key, index, state, reason, since, commit, generation, incarnation, provider } = row;
  const { wanted, applied, mayExist, dirty, replacing, approved, outputs, policy } = row;
  return {
    ...{ name, instance, key, index, state, reason, since, commit, generation, incarnation, provider },
    ...{ wanted, applied, mayExist, dirty, replacing, approved, held: held.has(instance) },
    ...{ protected: policy.protected, deletion: policy.deletion, outputs },
  };
}
