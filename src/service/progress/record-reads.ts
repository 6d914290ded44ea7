// The reads of the recorded state: events, servers, deliveries, notifications. Standbys have them too. See
// docs/rest.md, operations.

import { systemClock } from '../../base/clock.ts';
import { EVERY_INSTANCE } from '../../machine/suspension.ts';
import { instanceAddress } from '../../model/address.ts';
import type { EventRange, ListedEvent, ListedPage } from '../../model/instance-event.ts';
import { compareNames } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import type { LossPolicy, ServerRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type {
  Delivered,
  EventView,
  HeldItem,
  InstanceEvents,
  ListedEvents,
  RecordedServer,
  RecordedState,
  SentNotification,
} from '../answers.ts';
import { type AskedCommit, confirmedCommits, findDelivered } from '../deliveries/delivered.ts';
import { hasInstance, instanceNames, requireInstance, unknownInstance } from '../read/instance-views.ts';
import { Scope } from '../scope.ts';
import { activeView, type View } from '../views.ts';
import { type CommitSources, commitReads } from './commit-reads.ts';
import { heldItems } from './held-items.ts';

/** The sources of these reads. */
export interface RecordOptions extends CommitSources {
  /** See Source. */
  readonly isAncestor: (ancestor: string, descendant: string) => Promise<boolean>;
}

/**
 * Returns the reads that need only the rows, so that standbys can answer them. Each client gets only what it sees.
 */
export function recordReads(options: RecordOptions) {
  const view = (): View => activeView(options);

  /** A proxy sees no clients except itself. */
  async function listEvents(scope: Scope, range: EventRange, resource?: string): Promise<ListedEvents> {
    const { events, isGap } =
      scope.isWhole && resource === undefined
        ? await options.rows.listEvents(range)
        : await listSeenEvents(range, { scope, resource }, view());
    return { events: events.map((event) => eventView(scope, event)), gap: isGap };
  }

  return {
    ...commitReads(options),
    /**
     * Resolves with events of an instance, which may be deleted, and events that concern every instance. Throws
     * `not_found` if neither the instance nor an event of it exists, or if the client does not see it.
     */
    async events(by: Client, instance: string, range: EventRange): Promise<InstanceEvents> {
      const scope = new Scope(by, options);
      const present = view();
      const first = { after: 0, limit: 1, instances: new Set([instance]) };
      const isKnown = async () =>
        hasInstance(present, instance) || (await options.rows.listEvents(first)).events.length > 0;
      if (!scope.seesInstance(instance) || !(await isKnown())) throw unknownInstance(present, instance, { scope });
      const { events, gap } = await listEvents(scope, { ...range, instances: selectInstances([instance]) });
      return { events: events.map(({ instance: _instance, ...event }) => event), gap };
    },
    /** Resolves with events of several instances, or of all. `resource`: of this server only. */
    listEvents: (by: Client, range: EventRange, resource?: string): Promise<ListedEvents> =>
      listEvents(new Scope(by, options), range, resource),
    /** Returns the recorded servers that a client sees, for programs that compare them with a desired state. */
    recorded(by?: Client): RecordedState {
      const scope = new Scope(by, options);
      return listServers(view(), heldItems(options.rows, options.refused(), scope), scope);
    },
    /**
     * Resolves with a commit for {@link findDelivered}. Throws `not_found` if neither it nor a later commit is
     * followed.
     */
    async askedCommit(commit: string): Promise<AskedCommit> {
      const { desired, rows } = activeView(options);
      if (!(await options.isAncestor(commit, desired.commit)))
        throw new ServiceError('not_found', `Neither the commit ${commit} nor a later one is followed`);
      const reached = new Set<string>();
      for (const confirmed of confirmedCommits(rows.list('delivery').values()))
        if (await options.isAncestor(commit, confirmed)) reached.add(confirmed);
      return { commit, isReached: (confirmed) => reached.has(confirmed) };
    },
    /** Returns which nodes run the requested record. */
    delivered(by: Client, query: Omit<Parameters<typeof findDelivered>[0], 'scope'>): Delivered {
      const present = activeView(options);
      const scope = new Scope(by, options);
      if (query.instance !== null) requireInstance(present, query.instance, { scope });
      return findDelivered({ ...query, scope }, present);
    },
    /** Returns the last attempts to notify subscribers, the oldest first. */
    notifications(): { readonly notifications: readonly SentNotification[] } {
      const attempts = [...options.rows.list('notification')].sort(([a], [b]) => compareNames(a, b));
      return { notifications: attempts.map(([, { target, ...row }]) => ({ subscriber: target, ...row })) };
    },
  };
}

/**
 * The number of events in one read, and the maximum number of reads for one page of a limited client. Together they
 * cover all events that a store keeps.
 */
const EVENTS_A_READ = 500;
const READS_MAX = 200;

interface Seen {
  readonly scope: Scope;
  readonly resource: string | undefined;
}

/**
 * Resolves with the events that a client sees, of one server or of all. A limited client does not see the events of
 * former instances: their tenant is not known.
 */
async function listSeenEvents(
  { limit, ...range }: EventRange,
  { scope, resource }: Seen,
  view: View,
): Promise<ListedPage> {
  const instances = eventsOf(range.instances, { scope, resource }, view);
  const isNewest = range.before !== undefined;
  let { after, before } = range;
  let found: readonly ListedEvent[] = [];
  let isGap = false;
  for (let count = 1; ; count += 1) {
    const page = await view.rows.listEvents({ after, before, limit: EVENTS_A_READ, instances });
    if (count === 1) isGap = page.isGap;
    const seen = page.events.filter(
      (listed) => scope.seesEvent(listed) && (resource === undefined || listed.event.resource === resource),
    );
    found = isNewest ? [...seen, ...found] : [...found, ...seen];
    const events = isNewest ? found.slice(-limit) : found.slice(0, limit);
    if (page.events.length < EVENTS_A_READ || count === READS_MAX || found.length >= limit)
      return { events, isGap, newest: page.newest };
    if (isNewest) before = page.events[0]?.event.id;
    else after = page.events.at(-1)?.event.id ?? after;
    await systemClock.nextTurn();
  }
}

/**
 * Returns the instances whose events are read; undefined: all. Events of a recorded server are events of its
 * instance.
 */
function eventsOf(
  asked: ReadonlySet<string> | undefined,
  { scope, resource }: Seen,
  view: View,
): ReadonlySet<string> | undefined {
  const instance = resource === undefined ? undefined : view.rows.server(resource)?.instance;
  if (instance !== undefined && asked === undefined)
    return new Set([instance].filter((name) => scope.mayHaveEvents(name)));
  if (scope.isWhole) return asked;
  const names = asked ?? [...instanceNames(view), EVERY_INSTANCE];
  return new Set([...names].filter((name) => scope.mayHaveEvents(name)));
}

/**
 * Returns the instances whose events are listed: the named ones, and the one for events that concern every instance.
 * Without a name: undefined, for all.
 */
export function selectInstances(names: readonly string[]): ReadonlySet<string> | undefined {
  return names.length === 0 ? undefined : new Set([...names, EVERY_INSTANCE]);
}

/** Returns an event of any instance as a client sees it. */
export function eventView(scope: Scope, { instance, event }: ListedEvent): EventView {
  const hidden = scope.seesPerson(event.client) ? {} : { client: null, clientName: null };
  return { ...event, ...hidden, instance: instance === EVERY_INSTANCE ? null : instance };
}

/** Lists the recorded servers, sorted by name. Omits records and running actions. */
function listServers({ desired, rows }: View, held: readonly HeldItem[], scope: Scope): RecordedState {
  const instances = new Set(rows.list('held').keys());
  const servers: RecordedServer[] = [];
  for (const name of [...rows.list('server').keys()].sort(compareNames)) {
    const row = scope.seesServer(name) ? rows.server(name) : undefined;
    if (row === undefined) continue;
    const loss = row.wanted === null ? undefined : rows.list('pinned').get(instanceAddress(row.instance))?.loss;
    servers.push({ ...recordedServer(name, row, instances), ...(loss && policyIn(loss)) });
  }
  const isRecovering = rows.list('recovery').size > 0;
  return { commit: desired.commit, held, ...(isRecovering ? { isRecovering } : {}), servers };
}

/** The fields of a row that are copied unchanged. */
const LISTED = [
  ...(['instance', 'key', 'index', 'state', 'reason', 'since', 'commit', 'generation', 'incarnation'] as const),
  ...(['provider', 'wanted', 'applied', 'mayExist', 'dirty', 'replacing', 'approved', 'outputs'] as const),
] as const;

function recordedServer(name: string, row: ServerRow, held: ReadonlySet<string>): RecordedServer {
  const listed = Object.fromEntries(LISTED.map((field) => [field, row[field]]));
  return {
    name,
    ...(listed as Pick<ServerRow, (typeof LISTED)[number]>),
    ...policyIn(row.policy),
    held: held.has(row.instance),
  };
}

function policyIn({ protected: isProtected, deletion }: LossPolicy): Pick<RecordedServer, 'protected' | 'deletion'> {
  return { protected: isProtected, deletion };
}
