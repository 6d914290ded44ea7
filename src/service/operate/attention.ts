// Lists what needs a person: one item for each cause, whatever the number of servers that it concerns. docs/concepts.md, what needs a person.
import { type Steps, sortNames, visitAll } from '../../base/steps.ts';
import { countOf, momentOf } from '../../base/wording.ts';
import { attentionKeyOf } from '../../machine/attention.ts';
import { isStuck, reasonText } from '../../machine/reasons.ts';
import { tagWords } from '../../machine/responsibility.ts';
import { compareNames } from '../../model/names.ts';
import type { Problem } from '../../model/problem.ts';
import type { ServerRow } from '../../model/rows.ts';
import type { ProgressFacts, RowsAtMoment, View } from '../views.ts';
import {
  ATTENTION_KINDS,
  type Attention,
  type AttentionItem,
  type AttentionKind,
  type HeldItem,
  type Outage,
  type OutageName,
} from './answers.ts';
import { isApprovedAlready } from './held-items.ts';
import { answering, retrying, unblocking } from './server-items.ts';
import {
  correcting,
  type KnownReplicas,
  personFor,
  problemText,
  unfollowed,
  type Viewer,
  type WhyFacts,
} from './why.ts';

const ITEMS_MAX = 1_000;
const INSTANCES_MAX = 100;
const EXAMPLES_MAX = 5;

/** What the items are made of. */
export interface AttentionFacts extends Pick<WhyFacts, 'refused' | 'outages' | 'noticed'>, KnownReplicas {
  readonly view: View<ProgressFacts>;
  readonly held: readonly HeldItem[];
  /** By cause, the names of the servers that need a person; see RowIndex. */
  readonly needing: ReadonlyMap<string, readonly string[]>;
  /** By entry that is not in the settings any more, the names of its servers. Left out: it is not known. */
  readonly orphaned?: ReadonlyMap<string, readonly string[]> | undefined;
  /** By tags of which no proxy is heard of, the names of the servers that such a proxy has made. Left out: it is not known. */
  readonly unheard?: ReadonlyMap<readonly string[], readonly string[]> | undefined;
  readonly mistakesOf: (instance: string) => readonly Problem[];
}

/** With all instances that it concerns. */
type NewItem = Omit<AttentionItem, 'kind' | 'acknowledged'>;

const NO_SERVERS: AttentionItem['servers'] = { count: 0, examples: [] };

/**
 * Returns work that lists what needs a person: by kind, then by id, and last what is acknowledged. All items with all of their instances:
 * see {@link shortened}. A proxy is told as little as by `why`.
 */
export function* attentionIn(by: Viewer, facts: AttentionFacts): Steps<readonly AttentionItem[]> {
  const found = new Map<string, AttentionItem>();
  const add = (item: NewItem): unknown => found.set(item.id, acknowledgedIn(item, by, facts.view));
  for (const item of [
    ...(by.role === 'proxy' ? [] : [...outageItems(facts), ...leaderItems(facts)]),
    ...commitItems(by, facts),
  ])
    add(item);
  for (const item of facts.held) if (item.kind === 'deletes' || item.kind === 'failures') add(heldItem(item, facts));
  for (const item of yield* invalidItems(by, facts)) add(item);
  const covered = new Set<string>();
  for (const item of by.role === 'proxy' ? [] : yield* entryItems(facts, covered)) add(item);
  for (const item of by.role === 'proxy' ? [] : yield* unheardItems(facts)) add(item);
  for (const item of by.role === 'proxy' ? [] : endingItems(facts)) add(item);
  const isTold = (id: string, name: string): boolean =>
    covered.has(name) || (kindIn(id) === 'lost' && facts.noticed?.isOfSilent(name) === true);
  for (const [id, names] of facts.needing) {
    if (found.has(id)) continue;
    const isOwn: IsOwn = (name, row) => attentionKeyOf(row) === id && !isTold(id, name);
    const item = yield* serversItem(id, names, { ...facts.view, isOwn });
    if (item !== undefined) add(item);
    yield;
  }
  const order = (yield* sortNames([...found.keys()])).flatMap((id) => found.get(id) ?? []);
  const byKind = Map.groupBy(order, ({ kind }) => kind);
  const sorted = ATTENTION_KINDS.flatMap((kind) => byKind.get(kind) ?? []);
  return [
    ...sorted.filter((item) => item.acknowledged === null),
    ...sorted.filter((item) => item.acknowledged !== null),
  ];
}

/** Returns as many of the items as are shown, and the number of the others. */
export function firstOf(items: readonly AttentionItem[]): Attention {
  const attention = items.slice(0, ITEMS_MAX).map(shortened);
  const leftOut = items.length - attention.length;
  return { attention, ...(leftOut > 0 ? { attentionLeftOut: leftOut } : {}) };
}

/** Returns an item with as many instances as are shown. */
export function shortened(item: AttentionItem): AttentionItem {
  return item.instances.length <= INSTANCES_MAX ? item : { ...item, instances: item.instances.slice(0, INSTANCES_MAX) };
}

/** An item is acknowledged where each instance that it concerns is: for this kind, and for now. */
function acknowledgedIn(item: NewItem, by: Viewer, { rows, desired, now }: View<ProgressFacts>): AttentionItem {
  const kind = kindIn(item.id);
  const known = item.instances.flatMap((instance) => {
    const row = rows.read('acknowledgement', instance);
    return row?.kinds.includes(kind) && Date.parse(row.until) > now ? [row] : [];
  });
  const [first] = known.sort((a, b) => Date.parse(a.until) - Date.parse(b.until));
  if (first === undefined || known.length < item.instances.length) return { ...item, kind, acknowledged: null };
  const { until, reason } = first;
  return { ...item, kind, acknowledged: { by: personFor(by, first.by, desired), until, reason } };
}

/** Ids are made here and in machine/attention.ts, with one of these kinds. */
function kindIn(id: string): AttentionKind {
  return id.slice(0, id.indexOf(':')) as AttentionKind;
}

/** Returns an item that concerns no instance in particular. */
function outsideItem(id: string, { reason, since, sinceStart }: Outage, action: string | null): NewItem {
  const words = sinceStart ? `${reason} (the controller has started then; it may have been so before)` : reason;
  return { id, instances: [], servers: NO_SERVERS, reason: words, since, action };
}

/** What an outage means, and what to do. */
interface OutageWords {
  readonly id: string;
  readonly means: string;
  readonly action: string;
}

const BY_ITSELF = 'correct that; it is tried again by itself';
const OUTAGES: Readonly<Record<OutageName, OutageWords>> = {
  store: { id: 'store:unsaved', means: 'nothing is saved, so nothing new begins', action: BY_ITSELF },
  copied: {
    ...{ id: 'copied:store', means: 'two controllers may work on these servers' },
    action: 'stop one of the two; where that is the other one, start this one again',
  },
  repository: {
    ...{ id: 'repository:unread', means: 'the repository cannot be followed, and newer commits are not known' },
    action: 'correct that; it is read again by itself',
  },
  statuses: {
    ...{ id: 'statuses:unsent', means: 'commit statuses are not sent' },
    action: 'correct that; they are sent again by themselves',
  },
  notifications: {
    ...{ id: 'notifications:unsent', means: 'a subscriber is not told' },
    action: 'correct that; treeline notifications shows what waits, and it is sent again by itself',
  },
  audit: {
    ...{ id: 'audit:unwritten', means: 'the audit log loses lines' },
    action: 'make room for it, or correct its path',
  },
};

function outageItems({ outages = {} }: AttentionFacts): NewItem[] {
  return Object.entries(OUTAGES).flatMap(([name, { id, means, action }]) => {
    const outage = outages[name as OutageName];
    return outage === undefined ? [] : [outsideItem(id, { ...outage, reason: `${means}: ${outage.reason}` }, action)];
  });
}

function leaderItems({ leader, lag }: AttentionFacts): NewItem[] {
  if (leader !== null) return [];
  const reason = `no replica is known to lead, so nothing happens${lag === undefined ? '' : `: ${lag.reason}`}`;
  const item = outsideItem('leader:none', { reason, since: '' }, 'start a replica, or have it reach the database');
  return [{ ...item, since: lag?.since ?? null }];
}

/** Several commits that are not followed one after the other, for causes of one kind, are one item: the branch stands still. */
function commitItems(by: Viewer, { refused }: AttentionFacts): NewItem[] {
  const newest = unfollowed(by, refused);
  if (newest === null) return [];
  const reason = `the newest commit ${newest.commit} is not followed: ${newest.reason}`;
  return [outsideItem(`commit:${refused?.hold?.kind ?? 'wrong'}`, { ...newest, reason }, newest.action)];
}

function heldItem(item: HeldItem, { view: { rows } }: AttentionFacts): NewItem {
  const { digest, instance, reason, since, resources, commit } = item;
  const instances = instance === null ? instancesOf(resources, rows) : [instance];
  const servers = { count: resources.length, examples: resources.slice(0, EXAMPLES_MAX) };
  const row = instance === null ? undefined : rows.read('held', instance);
  const approve = `treeline approve ${digest}; where it is not meant, revert ${commit ?? 'the commit that asks for it'}`;
  const action = row !== undefined && isApprovedAlready(row, rows) ? null : approve;
  return { id: `held:${instance ?? digest}`, instances, servers, reason, since, action };
}

function instancesOf(servers: readonly string[], rows: RowsAtMoment): readonly string[] {
  const found = new Set(servers.flatMap((name) => rows.server(name)?.instance ?? []));
  return [...found].sort(compareNames);
}

/** Instances whose first mistake is in the same file are one cause: a wrong template stops all that use it. */
function* invalidItems(by: Viewer, { view, mistakesOf }: AttentionFacts): Steps<readonly NewItem[]> {
  const byFile = new Map<string, { readonly problem: Problem | undefined; readonly instances: string[] }>();
  yield* visitAll(yield* sortNames([...view.desired.invalid]), (instance) => {
    const [problem] = mistakesOf(instance);
    const about = problem?.file ?? instance;
    const known = byFile.get(about);
    if (known === undefined) byFile.set(about, { problem, instances: [instance] });
    else known.instances.push(instance);
  });
  return [...byFile].map(([about, { problem, instances }]): NewItem => {
    const whose = instances.length === 1 ? instances[0] : countOf(instances.length, 'instance');
    const text = problem === undefined ? '' : `: ${problemText(problem, by)}`;
    return {
      ...{ id: `invalid:${about}`, instances, servers: NO_SERVERS, since: null },
      reason: `the newest version of ${whose} is wrong${text}`,
      action: problem === undefined ? null : correcting(problem, view.desired),
    };
  });
}

/** Returns the items of provider entries that answer nothing, or are gone. Their servers are `covered`: they make no items of their own. */
function* entryItems({ view, noticed, orphaned }: AttentionFacts, covered: Set<string>): Steps<readonly NewItem[]> {
  const items: NewItem[] = [];
  for (const { entry, servers, since, reason } of noticed?.silent ?? []) {
    const item = yield* serversItem(`provider:${entry}`, [...servers], { ...view, isOwn: () => true });
    if (item === undefined) continue;
    for (const name of servers) covered.add(name);
    const words = `the provider entry "${entry}" has answered nothing since ${since}, the last time: ${reason}`;
    const action = `correct that, or its entry in the settings; its servers are tried again by themselves, and at once with: treeline retry --provider ${entry}`;
    items.push({ ...item, since, reason: words, action });
  }
  const silent = new Set(noticed?.silent.map(({ entry }) => entry));
  for (const { entry, servers, since } of noticed?.slow.filter((one) => !silent.has(one.entry)) ?? []) {
    const item = yield* serversItem(`provider:${entry}`, [...servers], { ...view, isOwn: () => true });
    if (item === undefined) continue;
    const reason = `the provider entry "${entry}" is slow: since ${since}, calls of it run for more than half of the time after which they are ended (timeoutSeconds)`;
    const action = 'find out why; where it is as usual, set a longer timeoutSeconds, and start the controller again';
    items.push({ ...item, since, reason, action });
  }
  for (const [entry, names] of orphaned ?? []) {
    const item = yield* serversItem(`entry:${entry}`, names, { ...view, isOwn: () => true });
    if (item === undefined) continue;
    for (const name of names) if (view.rows.server(name)?.reason?.code === 'provider_changed') covered.add(name);
    const reason = `the provider entry "${entry}" has made servers, and is not in the settings any more: nothing is done with them, and nothing checks them`;
    items.push({
      ...item,
      reason,
      since: null,
      action: 'put it back under execution.providers, and start the controller again',
    });
  }
  return items;
}

/** Servers at rest need their proxies too: nothing would check them, and the next commit would find nobody. */
function* unheardItems({ view, unheard, needing, noticed }: AttentionFacts): Steps<readonly NewItem[]> {
  const items: NewItem[] = [];
  for (const [tags, names] of unheard ?? []) {
    const id = `proxies:${tags.join(',')}`;
    const all = [...new Set([...names, ...(needing.get(id) ?? [])])];
    const item = yield* serversItem(id, all, { ...view, isOwn: () => true });
    const last = noticed?.unheardSince(tags);
    if (item === undefined || last === undefined) continue;
    const since = last === null ? null : momentOf(last);
    const what = since === null ? 'is registered' : `has asked for work since ${since}`;
    const reason = `no proxy ${tagWords(tags)} ${what}: nothing is done with its servers, and nothing checks them`;
    const advice =
      'see that it runs where it should, and that its certificate is good; who was seen when: treeline client list';
    items.push({ ...item, reason, since, action: since === null ? 'register a proxy for them, and start it' : advice });
  }
  return items;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** The time before its end from which on it needs a person; at most a quarter of its lifetime, as some are renewed every day. */
const ENDING_MS = 30 * DAY_MS;
const ENDING_OF_LIFE = 1 / 4;

function endingItems({ view: { now }, noticed }: AttentionFacts): NewItem[] {
  const due = (noticed?.ending ?? []).filter(({ begins, ends }) => {
    return now >= ends - Math.min(ENDING_MS, (ends - begins) * ENDING_OF_LIFE);
  });
  // Of several with one id, the one that ends first counts.
  return due
    .toSorted((a, b) => b.ends - a.ends)
    .map(({ id, name, begins, ends, action }) => {
      const days = Math.floor((ends - now) / DAY_MS);
      const left = now >= ends ? 'has ended' : days === 0 ? 'ends within a day' : `ends in ${countOf(days, 'day')}`;
      const since = momentOf(ends - Math.min(ENDING_MS, (ends - begins) * ENDING_OF_LIFE));
      return outsideItem(`certificate:${id}`, { reason: `${name} ${left}, at ${momentOf(ends)}`, since }, action);
    });
}

type IsOwn = (name: string, row: ServerRow) => boolean;

/** Returns the item of the servers of one cause; undefined where there is none of them any more. */
function* serversItem(
  id: string,
  names: readonly string[],
  { rows, isOwn }: { readonly rows: RowsAtMoment; readonly isOwn: IsOwn },
): Steps<NewItem | undefined> {
  const examples: Example[] = [];
  const instances = new Set<string>();
  let count = 0;
  let since: string | undefined;
  yield* visitAll(names, (name) => {
    const row = rows.server(name);
    if (row === undefined || !isOwn(name, row)) return;
    count += 1;
    instances.add(row.instance);
    if (since === undefined || row.since < since) since = row.since;
    const last = examples.length < EXAMPLES_MAX ? undefined : examples.at(-1);
    if (last !== undefined && compareNames(name, last.name) >= 0) return;
    examples.push({ name, row });
    examples.sort((a, b) => compareNames(a.name, b.name)).splice(EXAMPLES_MAX);
  });
  const [first] = examples;
  if (first === undefined || since === undefined) return undefined;
  return {
    ...{ id, since, servers: { count, examples: examples.map(({ name }) => name) } },
    instances: yield* sortNames([...instances]),
    reason: serversReason(kindIn(id), first, count),
    action: serversAction(kindIn(id), first, count),
  };
}

interface Example {
  readonly name: string;
  readonly row: ServerRow;
}

function serversReason(kind: AttentionKind, { name, row }: Example, count: number): string {
  if (kind === 'proxies') return `${row.reason?.text}; so many servers wait for one: ${count}`;
  const state = kind === 'failed' && row.state !== 'failed' ? 'has failed, and is tried again' : `is ${row.state}`;
  const reason = reasonText(row.reason);
  const others = count === 1 ? '' : `; others: ${count - 1}`;
  return `${name} ${state}${reason === '' ? '' : `: ${reason}`}${others}`;
}

function serversAction(kind: AttentionKind, { name, row }: Example, count: number): string | null {
  const retry = `treeline retry ${count === 1 ? `--resource ${name}` : row.instance}`;
  switch (kind) {
    case 'gone':
      return `find out whether they are gone, or its program or service answers wrongly; to make them again: treeline retry ${row.instance}`;
    case 'failed':
      return count === 1 ? retrying(name, row) : `correct that, then push, or: ${retry}`;
    case 'drifted':
      return `${retry}, or push a commit that changes it`;
    case 'lost':
      return isStuck(row) ? unblocking(name, row) : answering(name);
    default:
      return unblocking(name, row);
  }
}
