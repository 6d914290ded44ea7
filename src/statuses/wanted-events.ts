// Computes the events for subscribers: causes that need an operator, the followed commit, and done instances. Each of
// these is a row, the alert, which lasts or has ended. A subscriber is owed the phases of it that it has not accepted.
// Pure. ARCHITECTURE.md, "Events and messages".
import { toRfc3339 } from '../base/wording.ts';
import type { JsonMap } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { AlertRow } from '../model/rows.ts';
import type { NotificationKind, NotificationTarget } from '../model/settings.ts';
import type { AttentionItem } from '../service/answers.ts';

/** The facts from which alerts follow. */
export interface AlertFacts {
  readonly items: readonly AttentionItem[];
  readonly alerts: ReadonlyMap<string, AlertRow>;
  /** The followed commit. */
  readonly commit: string;
  /** Instances that a commit gave something to do since the last computation, with that commit. */
  readonly begun: ReadonlyMap<string, string>;
  /** Returns the number of servers of an instance, and whether all of them are idle. */
  readonly progressOf: (instance: string) => { readonly servers: number; readonly isIdle: boolean };
  readonly targets: readonly EventTarget[];
  /** True if the process is new and may not have seen all outside causes yet, so an unseen cause may last. */
  readonly isNew: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A subscriber and its filters. */
export type EventTarget = Pick<NotificationTarget, 'name' | 'kinds' | 'instances'>;

/** An event that a subscriber has not accepted. */
export interface OwedEvent {
  /** The name of the alert. */
  readonly alert: string;
  readonly phase: Phase;
  /** Constant for all attempts. */
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  /** RFC 3339, with milliseconds. */
  readonly time: string;
  readonly data: JsonMap;
}

type Phase = AlertRow['accepted'][string];
type Changes = ReadonlyMap<string, AlertRow | null>;

/** The name of the alert for the followed commit. */
const FOLLOWED = 'followed';
/** The prefix of the alert for an instance that got work from a commit. */
const ROLLOUT = 'rollout:';
/**
 * Kinds that follow from rows, so they are known right after a start. The others are observed some minutes later.
 */
const RECORDED: ReadonlySet<unknown> = new Set<AttentionItem['kind']>([
  ...(['commit', 'held', 'gone', 'invalid', 'failed', 'blocked', 'drifted', 'entry'] as const),
]);
/** Observed causes that make servers fail. */
const SITES: ReadonlySet<unknown> = new Set<AttentionItem['kind']>(['provider', 'proxies']);
const SUBSCRIPTIONS: Readonly<Partial<Record<AttentionItem['kind'], NotificationKind>>> = {
  held: 'held',
  drifted: 'drift',
  commit: 'commit',
};
/** How long the end of an alert is sent. */
const OWED_MS = 72 * 3_600_000;

/** Returns the changed alerts; null for an alert that no subscriber needs any more. */
export function changedAlerts(facts: AlertFacts): Changes {
  const changed = new Map<string, AlertRow | null>([...followedCommit(facts), ...rollouts(facts), ...attention(facts)]);
  for (const [name, row] of new Map([...facts.alerts, ...changed])) {
    if (row !== null && isOver(name, row, facts)) changed.set(name, null);
  }
  return changed;
}

function isOver(name: string, row: AlertRow, { targets, now }: AlertFacts): boolean {
  if (row.until === null || name === FOLLOWED) return false;
  if (now - Date.parse(row.until) >= OWED_MS) return true;
  return targets.every((target) => owedEvent(name, row, target) === undefined);
}

/** Returns the row after a subscriber accepted its event; undefined if the row has changed since. */
export function acceptedBy(target: string, { phase, time }: OwedEvent, row: AlertRow): AlertRow | undefined {
  if (phase === 'resolved' && row.until !== null && row.until !== time) return undefined;
  return { ...row, accepted: { ...row.accepted, [target]: phase } };
}

/** Returns the events that a subscriber has not accepted, the oldest first. */
export function owedEvents(alerts: ReadonlyMap<string, AlertRow>, target: EventTarget): readonly OwedEvent[] {
  const owed = [...alerts].flatMap(([name, row]) => owedEvent(name, row, target) ?? []);
  return owed.sort((a, b) => compareNames(a.time, b.time));
}

/** Commits of one poll are one event. The first commit of a store causes no event, because everything is new then. */
function followedCommit({ alerts, commit, now }: AlertFacts): Changes {
  const previous = alerts.get(FOLLOWED)?.data.commit;
  if (previous === commit) return new Map();
  const data: JsonMap = { commit, ...(previous === undefined ? {} : { previous }) };
  const time = toRfc3339(now);
  return new Map([[FOLLOWED, { kind: 'commit', instances: [], since: time, until: time, data, accepted: {} }]]);
}

function rollouts({ alerts, begun, progressOf, now }: AlertFacts): Changes {
  const changed = new Map<string, AlertRow>();
  for (const [instance, commit] of begun) {
    const before = alerts.get(`${ROLLOUT}${instance}`);
    if (before?.until === null && before.data.commit === commit) continue;
    const since = before?.until === null ? before.since : toRfc3339(now);
    const row: AlertRow = { kind: 'done', instances: [instance], since, until: null, data: { commit }, accepted: {} };
    changed.set(`${ROLLOUT}${instance}`, row);
  }
  for (const [name, row] of new Map([...alerts, ...changed])) {
    if (!name.startsWith(ROLLOUT) || row.until !== null) continue;
    const instance = name.slice(ROLLOUT.length);
    const { servers, isIdle } = progressOf(instance);
    const data: JsonMap = { instance, commit: row.data.commit ?? null, since: row.since, servers };
    if (isIdle) changed.set(name, { ...row, until: toRfc3339(now), data, accepted: {} });
  }
  return changed;
}

function attention({ items, alerts, isNew, now }: AlertFacts): Changes {
  const changed = new Map<string, AlertRow>();
  const present = new Set(items.map(({ id }) => id));
  const lasting = [...alerts].filter(([, { until, data }]) => until === null && data.kind !== undefined);
  for (const [name, row] of lasting) {
    if (present.has(name) || (isNew && !RECORDED.has(row.data.kind))) continue;
    changed.set(name, { ...row, until: toRfc3339(now) });
  }
  const away = lasting.filter(([, { data }]) => SITES.has(data.kind)).map(([, { instances }]) => new Set(instances));
  for (const item of items) {
    const before = alerts.get(item.id);
    if (before?.until === null || item.acknowledged !== null || (isNew && isOfKnownSite(item, away))) continue;
    const firing = Object.entries(before?.accepted ?? {}).filter(([, phase]) => phase === 'firing');
    changed.set(item.id, alertOf(item, { accepted: Object.fromEntries(firing), now }));
  }
  return changed;
}

function alertOf(
  item: AttentionItem,
  { accepted, now }: Pick<AlertRow, 'accepted'> & { readonly now: number },
): AlertRow {
  const { kind, instances, servers, reason, since, action } = item;
  const data: JsonMap = {
    kind,
    reason,
    since,
    action,
    instances: [...instances],
    servers: { count: servers.count, examples: [...servers.examples] },
  };
  return { kind: SUBSCRIPTIONS[kind] ?? 'attention', instances, since: toRfc3339(now), until: null, data, accepted };
}

/** Returns true if servers fail at a site that was away before the start: the failures are no second cause. */
function isOfKnownSite({ kind, instances }: AttentionItem, away: readonly ReadonlySet<string>[]): boolean {
  if (kind !== 'failed' && kind !== 'blocked') return false;
  return away.some((known) => instances.every((name) => known.has(name)));
}

function owedEvent(alert: string, row: AlertRow, target: EventTarget): OwedEvent | undefined {
  const phase = row.until === null ? 'firing' : 'resolved';
  const type = typeOf(alert, row, phase);
  const last = Object.hasOwn(row.accepted, target.name) ? row.accepted[target.name] : undefined;
  if (type === null || last === phase || (last === undefined && !wants(target, row))) return undefined;
  const isOnce = row.kind === 'done' || alert === FOLLOWED;
  const subject = String(isOnce ? (row.data.instance ?? row.data.commit) : alert);
  const data = phase === 'firing' || isOnce ? row.data : { ...row.data, began: row.since };
  const id = encodeURI(`${subject}/${type.slice(type.lastIndexOf('.') + 1)}/${row.since}`);
  return { alert, phase, id, type, subject, time: row.until ?? row.since, data };
}

/** Returns null if there is no event for this phase. */
function typeOf(alert: string, { kind, data }: AlertRow, phase: Phase): string | null {
  if (kind === 'done') return phase === 'firing' ? null : 'treeline.instance.done';
  if (alert === FOLLOWED) return data.previous === undefined ? null : 'treeline.commit.followed';
  return `treeline.${kind}.${phase}`;
}

/** An alert without an instance is for every subscriber of its kind. */
function wants({ kinds, instances: patterns }: EventTarget, { kind, instances }: AlertRow): boolean {
  if (!kinds.includes(kind)) return false;
  return instances.length === 0 || instances.some((name) => patterns.some((pattern) => fits(name, pattern)));
}

/** `*` matches any characters. */
function fits(name: string, pattern: string): boolean {
  const parts = pattern.split('*').map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join('.*')}$`, 's').test(name);
}
