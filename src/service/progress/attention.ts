// Lists what needs a person: one item for each cause, whatever the number of servers that it concerns.
// docs/concepts.md, what needs a person.
import { countOf, momentOf } from '../../base/wording.ts';
import { breakingCommand, cycleReason } from '../../machine/chain.ts';
import { isStuck, reasonText, stateWithReason } from '../../machine/reasons.ts';
import { RECOVERY } from '../../machine/recovery.ts';
import { compareNames } from '../../model/names.ts';
import type { Problem } from '../../model/problem.ts';
import type { ServerRow } from '../../model/rows.ts';
import {
  ATTENTION_KINDS,
  type Attention,
  type AttentionItem,
  type AttentionKind,
  type HeldItem,
  type Since,
} from '../answers.ts';
import type { ProgressFacts, RowsAtMoment, View } from '../views.ts';
import { dueFrom } from './clients-seen.ts';
import { isApprovedAlready, withDeleted } from './held-items.ts';
import { reasonSince, type ToldOutage, tellOutages, tellSilent, tellUnheard } from './outages.ts';
import { resuming } from './recovery.ts';
import { answering, retrying, unblocking, uncheckedWords } from './server-items.ts';
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
export interface AttentionFacts
  extends Pick<WhyFacts, 'scope' | 'refused' | 'outages' | 'noticed' | 'invalidSince' | 'checkFailureOf'>,
    KnownReplicas {
  readonly view: View<ProgressFacts>;
  readonly held: readonly HeldItem[];
  /** By cause, the names of the servers that need a person; see RowIndex. */
  readonly needing: ReadonlyMap<string, readonly string[]>;
  /** By entry that is not in the settings any more, the names of its servers. Left out: it is not known. */
  readonly orphaned?: ReadonlyMap<string, readonly string[]> | undefined;
  /**
   * By tags of which no proxy is heard of, the names of the servers that such a proxy has made. Left out: it is not
   * known.
   */
  readonly unheard?: ReadonlyMap<readonly string[], readonly string[]> | undefined;
  readonly mistakesOf: (instance: string) => readonly Problem[];
}

/** With all instances that it concerns. */
type NewItem = Omit<AttentionItem, 'kind' | 'acknowledged'>;

/** Of one kind, by id: `known` is acknowledged. */
type SortedItems = Readonly<Record<'open' | 'known', AttentionItem[]>>;

const NO_SERVERS: AttentionItem['servers'] = { count: 0, examples: [] };

/**
 * Lists what needs a person: by kind, then by id, and last what is acknowledged. All items have all of their instances:
 * see {@link shortened}. A proxy sees as little as by `why`. The ids of causes that last, but that an item of a
 * provider entry stands for, are added to `covered`.
 */
export function attentionIn(by: Viewer, facts: AttentionFacts, covered = new Set<string>()): readonly AttentionItem[] {
  const found = new Map<string, AttentionItem>();
  const add = (item: NewItem): unknown => found.set(item.id, acknowledgedIn(item, by, facts.view));
  const isProxy = by.role === 'proxy';
  const outside = isProxy
    ? []
    : [...[...tellOutages(facts.outages).map(outsideItem), ...leaderItems(facts)], ...recoveryItems(facts)];
  for (const item of [...outside, ...commitItems(by, facts)]) add(item);
  for (const item of facts.held) {
    if (item.instance !== null || item.kind === 'failures') add(heldItem(item, facts));
  }
  for (const item of [...invalidItems(by, facts), ...cycleItems(facts)]) add(item);
  const ofEntries = new Set<string>();
  if (!isProxy) {
    for (const item of entryItems(facts, ofEntries)) add(item);
    for (const item of unheardItems(facts)) add(item);
    for (const item of endingItems(facts)) add(item);
  }
  const isTold = (id: string, name: string): boolean =>
    ofEntries.has(name) || (kindIn(id) === 'lost' && facts.noticed?.isOfSilent(name) === true);
  for (const [id, names] of facts.needing) {
    if (found.has(id)) continue;
    const own = names.filter((name) => !isTold(id, name) && facts.scope.seesServer(name));
    const item = serversItem(id, own, facts.view);
    if (item === undefined) covered.add(id);
    else add(item);
  }
  if (!isProxy) {
    for (const item of uncheckedItems(facts, ofEntries, covered)) add(item);
    for (const item of unappliedItems(facts)) add(item);
  }
  const byKind = new Map(ATTENTION_KINDS.map((kind) => [kind, { open: [], known: [] } as SortedItems]));
  for (const id of [...found.keys()].sort(compareNames)) {
    const item = found.get(id);
    const items = byKind.get(kindIn(id));
    if (item !== undefined) items?.[item.acknowledged === null ? 'open' : 'known'].push(item);
  }
  const sorted = [...byKind.values()];
  return [...sorted.flatMap(({ open }) => open), ...sorted.flatMap(({ known }) => known)];
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

/** An item is acknowledged if its cause is acknowledged for each instance that it concerns. */
function acknowledgedIn(item: NewItem, by: Viewer, { rows, desired, now }: View<ProgressFacts>): AttentionItem {
  const kind = kindIn(item.id);
  const known = item.instances.flatMap((instance) => {
    const row = rows.read('acknowledgement', instance);
    return row?.causes.includes(item.id) && Date.parse(row.until) > now ? [row] : [];
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
function outsideItem({ id, reason, since, action }: ToldOutage): NewItem {
  return { id, instances: [], servers: NO_SERVERS, reason, since, action };
}

function leaderItems({ leader, lag }: AttentionFacts): NewItem[] {
  if (leader !== null) return [];
  const reason = `no replica is known to lead, so nothing happens${lag === undefined ? '' : `: ${lag.reason}`}`;
  const action = 'start a replica, or have it reach the database';
  return [outsideItem({ id: 'leader:none', reason, since: lag?.since ?? null, action })];
}

function recoveryItems({ view: { rows }, scope }: AttentionFacts): NewItem[] {
  const row = rows.read('recovery', RECOVERY);
  if (row === undefined || !scope.isWhole) return [];
  const { id, reason, since, notBefore } = row;
  const text = `no action starts until a person resumes: ${reason}`;
  const action = `look at what was found (treeline status), adopt or retain what waits; then, from ${notBefore} on: ${resuming(row)}`;
  return [outsideItem({ id: `recovery:${id}`, reason: text, since, action })];
}

/**
 * Several commits that are not followed one after the other, for causes of one kind, are one item: the branch stands
 * still.
 */
function commitItems(by: Viewer, { refused }: AttentionFacts): NewItem[] {
  const newest = unfollowed(by, refused);
  if (newest === null) return [];
  const reason = `the newest commit ${newest.commit} is not followed: ${newest.reason}`;
  return [outsideItem({ ...newest, id: `commit:${refused?.hold?.kind ?? 'wrong'}`, reason })];
}

function heldItem(item: HeldItem, { view: { rows } }: AttentionFacts): NewItem {
  const { digest, kind, instance, since, resources, commit } = item;
  const reason = kind === 'deletes' || kind === 'unreadable' ? withDeleted(item.reason, resources) : item.reason;
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

interface Mistaken {
  readonly problem: Problem | undefined;
  readonly instances: string[];
  /** Of the one that is so for the longest time. */
  began: Since | undefined;
}

/** Instances whose first mistake is in the same file are one cause: a wrong template stops all that use it. */
function invalidItems(by: Viewer, { view, mistakesOf, invalidSince, scope }: AttentionFacts): readonly NewItem[] {
  const byFile = new Map<string, Mistaken>();
  for (const instance of [...view.desired.invalid].sort(compareNames)) {
    if (!scope.seesInstance(instance)) continue;
    const [problem] = mistakesOf(instance);
    const about = problem?.file ?? instance;
    const known = byFile.get(about) ?? { problem, instances: [], began: undefined };
    byFile.set(about, known);
    known.instances.push(instance);
    const began = invalidSince?.(instance);
    if (began !== undefined && !(known.began && known.began.since <= began.since)) known.began = began;
  }
  const items: NewItem[] = [];
  for (const [about, { problem, instances, began }] of byFile) {
    const whose = instances.length === 1 ? instances[0] : countOf(instances.length, 'instance');
    const text = problem === undefined ? '' : `: ${problemText(problem, by)}`;
    items.push({
      id: `invalid:${about}`,
      instances,
      servers: NO_SERVERS,
      since: began?.since ?? null,
      reason: reasonSince({ ...began, reason: `the newest version of ${whose} is wrong${text}` }),
      action: problem === undefined ? null : correcting(problem, view.desired),
    });
  }
  return items;
}

/** Servers that wait for one another: nothing but a person has one of them continue. */
function cycleItems({ view, noticed, scope }: AttentionFacts): readonly NewItem[] {
  return (noticed?.cycles ?? []).flatMap((cycle): NewItem[] => {
    const names = cycle.map(({ server }) => server);
    const item = names.every((name) => scope.seesServer(name))
      ? serversItem(`cycle:${names[0]}`, names, view)
      : undefined;
    return item === undefined ? [] : [{ ...item, reason: cycleReason(cycle), action: breakingCommand(cycle) }];
  });
}

/**
 * Returns the items of provider entries that answer nothing, or are gone. Their servers are added to `ofEntries`: they
 * make no items of their own.
 */
function entryItems({ view, noticed, orphaned }: AttentionFacts, ofEntries: Set<string>): readonly NewItem[] {
  const items: NewItem[] = [];
  for (const entry of noticed?.silent ?? []) {
    const told = tellSilent(entry);
    const item = serversItem(told.id, [...entry.servers], view);
    if (item === undefined) continue;
    for (const name of entry.servers) ofEntries.add(name);
    items.push({ ...item, ...told });
  }
  for (const [entry, names] of orphaned ?? []) {
    const item = serversItem(`entry:${entry}`, names, view);
    if (item === undefined) continue;
    for (const name of names) if (view.rows.server(name)?.reason?.code === 'provider_changed') ofEntries.add(name);
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
function unheardItems({ view, unheard, needing, noticed }: AttentionFacts): readonly NewItem[] {
  const items: NewItem[] = [];
  for (const [tags, names] of unheard ?? []) {
    const id = `proxies:${tags.join(',')}`;
    const all = [...new Set([...names, ...(needing.get(id) ?? [])])];
    const item = serversItem(id, all, view);
    const last = noticed?.unheardSince(tags);
    if (item !== undefined && last !== undefined) items.push({ ...item, ...tellUnheard(tags, last) });
  }
  return items;
}

/**
 * Servers at rest whose checks fail, though their entry answers others: nobody would see that one of them drifts, or is
 * gone.
 */
function uncheckedItems(
  { view, noticed, checkFailureOf }: AttentionFacts,
  ofEntries: ReadonlySet<string>,
  covered: Set<string>,
): readonly NewItem[] {
  const byInstance = new Map<string, string[]>();
  for (const name of noticed?.unchecked ?? []) {
    const row = view.rows.server(name);
    if (row?.state !== 'done') continue;
    const names = byInstance.get(row.instance) ?? [];
    if (!ofEntries.has(name) && noticed?.isOfSilent(name) !== true) names.push(name);
    byInstance.set(row.instance, names);
  }
  const items: NewItem[] = [];
  for (const [instance, names] of byInstance) {
    const item = serversItem(`unchecked:${instance}`, names, view);
    if (item === undefined) covered.add(`unchecked:${instance}`);
    const [first = ''] = item?.servers.examples ?? [];
    const failure = checkFailureOf(first);
    if (item === undefined || failure === undefined) continue;
    const reason = `${first}: ${uncheckedWords(failure)}${othersIn(names.length)}`;
    items.push({ ...item, reason, since: momentOf(failure.since), action: answering(first) });
  }
  return items;
}

/**
 * Nodes whose consumers could not apply their record: the server is done, and what runs on it is not what is wanted.
 */
function unappliedItems({ view: { rows }, scope }: AttentionFacts): readonly NewItem[] {
  const unapplied = [...rows.list('delivery')].flatMap(([name, row]) => {
    const isPresent = row.incarnation === (rows.server(name)?.incarnation ?? 0);
    return row.outcome === 'failed' && isPresent && scope.seesNode(name) ? [{ name, ...row }] : [];
  });
  const byInstance = Map.groupBy(unapplied, ({ name }) => rows.server(name)?.instance);
  return [...byInstance].map(([instance, nodes]) => {
    const sorted = nodes.toSorted((a, b) => compareNames(a.name, b.name));
    const [{ name, message } = { name: '', message: '' }] = sorted;
    return {
      id: `unapplied:${instance ?? 'types/clientcert'}`,
      instances: instance === undefined ? [] : [instance],
      servers: { count: nodes.length, examples: sorted.slice(0, EXAMPLES_MAX).map((node) => node.name) },
      since: nodes.map(({ time }) => time).sort()[0] ?? null,
      reason: `${name} could not apply its record: ${message}${othersIn(nodes.length)}`,
      action: `treeline delivered${instance === undefined ? '' : ` ${instance}`}`,
    };
  });
}

const DAY_MS = 24 * 60 * 60 * 1000;

function endingItems({ view: { now }, noticed }: AttentionFacts): NewItem[] {
  const due = (noticed?.ending ?? []).filter((one) => now >= dueFrom(one));
  // Of several with one id, the one that ends first counts.
  return due
    .toSorted((a, b) => b.ends - a.ends)
    .map(({ id, name, begins, ends, action }) => {
      const days = Math.floor((ends - now) / DAY_MS);
      const left = now >= ends ? 'has ended' : days === 0 ? 'ends within a day' : `ends in ${countOf(days, 'day')}`;
      const since = momentOf(dueFrom({ begins, ends }));
      return outsideItem({ id: `certificate:${id}`, reason: `${name} ${left}, at ${momentOf(ends)}`, since, action });
    });
}

/** Returns the item of the servers of one cause; undefined if there is none. */
function serversItem(id: string, names: readonly string[], { rows }: View<ProgressFacts>): NewItem | undefined {
  const examples: Example[] = [];
  const instances = new Set<string>();
  let count = 0;
  let since: string | undefined;
  for (const name of names) {
    const row = rows.server(name);
    if (row === undefined) continue;
    count += 1;
    instances.add(row.instance);
    if (since === undefined || row.since < since) since = row.since;
    const last = examples.length < EXAMPLES_MAX ? undefined : examples.at(-1);
    if (last !== undefined && compareNames(name, last.name) >= 0) continue;
    examples.push({ name, row });
    examples.sort((a, b) => compareNames(a.name, b.name)).splice(EXAMPLES_MAX);
  }
  const [first] = examples;
  if (first === undefined || since === undefined) return undefined;
  return {
    id,
    since,
    servers: { count, examples: examples.map(({ name }) => name) },
    instances: [...instances].sort(compareNames),
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
  const reason = reasonText(row.reason);
  const isRetried = kind === 'failed' && row.state !== 'failed';
  const words = isRetried
    ? stateWithReason('has failed, and is tried again', reason)
    : `is ${stateWithReason(row.state, reason)}`;
  return `${name} ${words}${othersIn(count)}`;
}

function othersIn(count: number): string {
  return count === 1 ? '' : `; others: ${count - 1}`;
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
