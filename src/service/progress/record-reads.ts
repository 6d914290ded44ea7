// The reads of what is recorded: events, servers, deliveries, notifications. A replica that does not lead has them as well. See docs/rest.md,
// operations.

import { type Steps, sortNames, visitAll } from '../../base/steps.ts';
import { liftsIn } from '../../desired/deletions.ts';
import { EVERY_INSTANCE } from '../../machine/suspension.ts';
import { nameAt } from '../../model/address.ts';
import type { EventRange, InstanceEvent, ListedEvent, ListedRange } from '../../model/instance-event.ts';
import { isNarrow } from '../../model/least-rights.ts';
import { compareNames } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import type { NotificationRow, ServerRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Spec } from '../../model/spec.ts';
import type {
  Delivered,
  HeldItem,
  InstanceEvents,
  ListedEvents,
  RecordedServer,
  RecordedState,
  SentNotification,
  ToldEvent,
} from '../answers.ts';
import type { ClientView } from '../client-view.ts';
import { type AskedCommit, findDelivered, formerUntils } from '../deliveries/delivered.ts';
import { hasInstance, requireInstance, unknownInstance } from '../read/instance-views.ts';
import { answerEach, seenSpec } from '../seen-sources.ts';
import {
  activeView,
  heldView,
  type PresentView,
  type ProgressFacts,
  type View,
  type ViewSources,
  viewAtMoment,
} from '../views.ts';
import { heldItems } from './held-items.ts';

type SeenServers = Pick<ClientView, 'seesServer'>;

/** What answers of recorded things are made of. */
export interface RecordOptions extends ViewSources {
  /** Asks git; see Source. */
  readonly isAncestor: (ancestor: string, descendant: string) => Promise<boolean>;
}

/** Returns what needs the rows alone, for each client as far as it sees it: also a replica that does not lead has it. */
export function recordReads(options: RecordOptions) {
  return answerEach(options, (seen) => recordsOf({ ...options, ...seen?.sources }, seen?.view));
}

/** Returns what needs the rows alone, for one client. `seen`: what it sees, if that is not everything. */
export function recordsOf(options: RecordOptions, seen?: SeenServers) {
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
    recorded: (_by?: Client): Steps<RecordedState> =>
      listServers(viewAtMoment(view()), heldItems(options.rows, options.refused()), seen),
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

/** Lists the recorded servers of a moment, sorted by name. Records and actions under way are not part of it. */
function* listServers(
  moment: Steps<View<{ readonly commit: string }>>,
  heldAtMoment: Steps<readonly HeldItem[]>,
  seen: SeenServers | undefined,
): Steps<RecordedState> {
  const { desired, rows } = yield* moment;
  const held = yield* heldAtMoment;
  const instances = new Set(rows.list('held').keys());
  const servers: RecordedServer[] = [];
  yield* visitAll(yield* sortNames([...rows.list('server').keys()]), (name) => {
    const row = rows.server(name);
    if (row !== undefined) servers.push(recordedServer(name, row, { held: instances, seen }));
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

interface Recording {
  readonly held: ReadonlySet<string>;
  readonly seen: SeenServers | undefined;
}

function recordedServer(name: string, row: ServerRow, { held, seen }: Recording): RecordedServer {
  const { instance, key, index, state, reason, since, commit, generation, incarnation, provider } = row;
  const { mayExist, dirty, replacing, approved, outputs, policy } = row;
  const shown = (spec: Spec | null): Spec | null =>
    spec === null || seen === undefined ? spec : seenSpec(spec, (server) => seen.seesServer(server));
  return {
    ...{ name, instance, key, index, state, reason, since, commit, generation, incarnation, provider },
    ...{
      wanted: shown(row.wanted),
      applied: shown(row.applied),
      mayExist,
      dirty,
      replacing,
      approved,
      held: held.has(instance),
    },
    ...{ protected: policy.protected, deletion: policy.deletion, outputs },
  };
}
