// Computes what subscribers are to be told: what needs a person, what is followed and what is done, compared with what was told before.
// Pure: the same facts give the same events. ARCHITECTURE.md, "Events and messages".
import { momentOf } from '../base/wording.ts';
import type { JsonMap } from '../model/json.ts';
import type { AlertRow } from '../model/rows.ts';
import type { NotificationKind, NotificationTarget } from '../model/settings.ts';
import type { AttentionItem } from '../service/answers.ts';

/** What is told, and what it begins or ends. */
export interface NewEvents {
  /** By name; null: it is over. */
  readonly alerts: ReadonlyMap<string, AlertRow | null>;
  readonly events: readonly NewNotification[];
}

/** An event for the subscribers that it names. */
export interface NewNotification {
  readonly type: string;
  readonly subject: string;
  readonly data: JsonMap;
  readonly targets: readonly string[];
}

/** What the events follow from. */
export interface NotificationFacts {
  readonly items: readonly AttentionItem[];
  readonly alerts: ReadonlyMap<string, AlertRow>;
  /** The followed commit. */
  readonly commit: string;
  /** Instances that a commit gave something to do since they were looked at last, with that commit. */
  readonly begun: ReadonlyMap<string, string>;
  /** Returns the number of servers of an instance, and whether all of them are at rest. */
  readonly progressOf: (instance: string) => { readonly servers: number; readonly isAtRest: boolean };
  readonly targets: readonly Pick<NotificationTarget, 'name' | 'kinds' | 'instances'>[];
  /**
   * The process began not long ago, and has not seen yet what it observes outside. What it does not see may be there.
   */
  readonly isNew: boolean;
  /** Returns true if the process has seen a cause since it began: then it is over where it is not seen any more. */
  readonly hasSeen: (id: string) => boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The alert that holds the followed commit. */
const FOLLOWED = 'followed';
/** Before the name of an instance: a commit gave it something to do, and that is not done. */
const ROLLOUT = 'rollout:';
/** Recorded, whatever happens outside. The other kinds of what needs a person are observed, and known some time after a start. */
const RECORDED: readonly AttentionItem['kind'][] = [
  ...(['commit', 'held', 'gone', 'invalid', 'failed', 'blocked', 'drifted', 'entry'] as const),
];
/** Observed causes for which servers fail. */
const SITES: readonly unknown[] = ['provider', 'proxies'];
const SUBSCRIPTIONS: Readonly<Partial<Record<AttentionItem['kind'], NotificationKind>>> = {
  held: 'held',
  drifted: 'drift',
  commit: 'commit',
};

/** Returns work that finds what has to be told now. */
export function newEvents(facts: NotificationFacts): NewEvents {
  const parts = [followedEvents(facts), rolloutEvents(facts), attentionEvents(facts)];
  return {
    alerts: new Map(parts.flatMap(({ alerts }) => [...alerts])),
    events: parts.flatMap(({ events }) => events).filter(({ targets }) => targets.length > 0),
  };
}

/** Several commits that come in one poll are one event. The first commit of a store is none: everything is new then. */
function followedEvents({ alerts, commit, targets, now }: NotificationFacts): NewEvents {
  const before = alerts.get(FOLLOWED)?.data.commit;
  if (before === commit) return { alerts: new Map(), events: [] };
  const data = { commit, ...(before === undefined ? {} : { previous: before }) };
  const event = { type: 'treeline.commit.followed', subject: commit, data, targets: subscribed(targets, 'commit', []) };
  return {
    alerts: new Map([[FOLLOWED, { since: momentOf(now), targets: [], data }]]),
    events: before === undefined ? [] : [event],
  };
}

function rolloutEvents({ alerts, begun, progressOf, targets, now }: NotificationFacts): NewEvents {
  const open = new Map<string, { readonly commit: string; readonly since: string }>();
  for (const [name, { since, data }] of alerts) {
    if (name.startsWith(ROLLOUT)) open.set(name.slice(ROLLOUT.length), { commit: String(data.commit), since });
  }
  for (const [instance, commit] of begun) {
    open.set(instance, { commit, since: open.get(instance)?.since ?? momentOf(now) });
  }
  const changed = new Map<string, AlertRow | null>();
  const events: NewNotification[] = [];
  for (const [instance, { commit, since }] of open) {
    const name = `${ROLLOUT}${instance}`;
    const { servers, isAtRest } = progressOf(instance);
    if (!isAtRest) {
      if (alerts.get(name)?.data.commit !== commit) changed.set(name, { since, targets: [], data: { commit } });
      continue;
    }
    if (alerts.has(name)) changed.set(name, null);
    const data = { instance, commit, since, servers };
    events.push({
      ...{ type: 'treeline.instance.done', subject: instance, data },
      targets: subscribed(targets, 'done', [instance]),
    });
  }
  return { alerts: changed, events };
}

/** Returns work that finds what has to be told of what needs a person: an end comes for each beginning, and to those who were told of it. */
export function attentionEvents(
  facts: Pick<NotificationFacts, 'items' | 'alerts' | 'targets' | 'isNew' | 'hasSeen' | 'now'>,
): NewEvents {
  const { items, alerts, targets, isNew, hasSeen, now } = facts;
  const changed = new Map<string, AlertRow | null>();
  const events: NewNotification[] = [];
  const present = new Set(items.map(({ id }) => id));
  /** The instances of sites that are away, as was told, site by site. */
  const away: ReadonlySet<string>[] = [];
  for (const [name, { targets: told, data, since }] of alerts) {
    const kind = data.kind as AttentionItem['kind'] | undefined;
    if (SITES.includes(kind)) away.push(new Set(data.instances as readonly string[]));
    if (kind === undefined || present.has(name)) continue;
    if (isNew && !hasSeen(name) && !RECORDED.includes(kind)) continue;
    changed.set(name, null);
    events.push({ type: typeOf(kind, 'resolved'), subject: name, data: { ...data, began: since }, targets: told });
  }
  for (const item of items) {
    if (alerts.has(item.id) || item.acknowledged !== null || (isNew && isOfToldSite(item, away))) continue;
    const { id, kind, instances, servers, reason, since, action } = item;
    const data: JsonMap = {
      ...{ kind, reason, since, action, instances: [...instances] },
      servers: { count: servers.count, examples: [...servers.examples] },
    };
    const told = subscribed(targets, SUBSCRIPTIONS[kind] ?? 'attention', instances);
    changed.set(id, { since: momentOf(now), targets: told, data });
    events.push({ type: typeOf(kind, 'firing'), subject: id, data, targets: told });
  }
  return { alerts: changed, events };
}

/** Returns true if servers fail of which it was told before the start that their site is away: that is no second cause. */
function isOfToldSite({ kind, instances }: AttentionItem, away: readonly ReadonlySet<string>[]): boolean {
  if (kind !== 'failed' && kind !== 'blocked') return false;
  return away.some((told) => instances.every((name) => told.has(name)));
}

function typeOf(kind: AttentionItem['kind'], status: 'firing' | 'resolved'): string {
  return `treeline.${SUBSCRIPTIONS[kind] ?? 'attention'}.${status}`;
}

/** Returns the names of those who want events of a kind about these instances; about none in particular: all who want the kind. */
function subscribed(
  targets: NotificationFacts['targets'],
  kind: NotificationKind,
  instances: readonly string[],
): readonly string[] {
  const wants = ({ kinds, instances: patterns }: NotificationFacts['targets'][number]): boolean =>
    kinds.includes(kind) &&
    (instances.length === 0 || instances.some((name) => patterns.some((one) => fits(name, one))));
  return targets.filter(wants).map(({ name }) => name);
}

/** A `*` stands for any characters. */
function fits(name: string, pattern: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false;
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > name.length - last.length) return false;
    at = found + part.length;
  }
  return true;
}
