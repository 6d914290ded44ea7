// Explains why an instance is not done. See docs/rest.md, stack instances.

import { stateWithReason } from '../../machine/reasons.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../../machine/suspension.ts';
import { isNarrow } from '../../model/least-rights.ts';
import type { Client } from '../../model/objects.ts';
import type { AttentionKind, Cause, ReplicaFacts, StateCounts, WaitingItem, Why } from '../answers.ts';
import { instanceStatus, type StallsOf } from '../read/instance-views.ts';
import type { ProgressFacts, View } from '../views.ts';
import type { CauseFacts, KnownReplicas, Viewer } from './causes.ts';
import { countStates, rootItem, serverItems, type WaitFacts } from './server-items.ts';

/** The sources of the answers. */
export interface WhyFacts extends CauseFacts, Pick<WaitFacts, 'waitOf'> {
  readonly stallsOf: StallsOf;
  /** Returns the proxy that carries out the action of a server; undefined if none does. */
  readonly holderOf?: ((server: string) => CallHolder | undefined) | undefined;
}

/** A proxy that carries out an action. */
export interface CallHolder {
  /** Serial of the client. */
  readonly client: string;
  /** When it was last heard of, RFC 3339 with milliseconds; null: not since the start of the controller. */
  readonly heard: string | null;
}

const ITEMS_MAX = 1_000;

/** Causes that concern an instance as a whole, in the order in which they are shown, and the state that they show. */
const WHOLE_STATES: Readonly<Partial<Record<AttentionKind, WaitingItem['state']>>> = {
  recovery: 'Suspended',
  held: 'Awaiting approval',
  invalid: 'Invalid',
  commit: 'Not followed',
  store: 'Outage',
  repository: 'Outage',
  provider: 'Outage',
  proxies: 'Outage',
};
/** The causes that the status of an instance follows from. The list of all instances has the others once. */
export const STATUS_KINDS: readonly AttentionKind[] = ['recovery', 'held', 'invalid'];

/** Returns what a client sees of the replicas. */
export function replicaFacts({ role }: Client, { leader, lag }: KnownReplicas): ReplicaFacts {
  if (role === 'proxy' || leader === undefined) return {};
  return lag === undefined ? { leader } : { leader, lag };
}

/**
 * Returns a function that returns the causes of these kinds that concern an instance, or every instance. `kinds`:
 * omitted: all that `why` shows.
 */
export function causesByInstance(
  causes: readonly Cause[],
  kinds = Object.keys(WHOLE_STATES) as readonly AttentionKind[],
): (instance: string) => readonly Cause[] {
  const shown = kinds.flatMap((kind) => causes.filter((cause) => cause.kind === kind));
  const ofEvery = shown.filter(({ instances }) => instances.length === 0);
  const own = new Map<string, Cause[]>();
  for (const cause of shown) {
    for (const instance of cause.instances) own.set(instance, [...(own.get(instance) ?? []), cause]);
  }
  const rank = ({ kind }: Cause): number => kinds.indexOf(kind);
  return (instance) => [...ofEvery, ...(own.get(instance) ?? [])].sort((a, b) => rank(a) - rank(b));
}

/** Returns why an instance that exists is not done, with at most `itemsMax` items. `causes`: that concern it. */
export function explainWaits(
  { name, causes }: { readonly name: string; readonly causes: readonly Cause[] },
  by: Client,
  facts: WhyFacts,
  itemsMax = ITEMS_MAX,
): Why {
  const { rows } = facts.view;
  const servers = rows.index.serversOf(name);
  const waits = waitFactsFor(by, facts);
  const items = serverItems(servers, waits, itemsMax);
  const waiting = [...suspensions(name, by, facts.view), ...causes.map(itemOf), ...items].slice(0, itemsMax);
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

function itemOf({ kind, reason, since, action }: Cause): WaitingItem {
  return { resource: null, state: WHOLE_STATES[kind] ?? 'Outage', reason, since, until: null, action };
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
  const calls = showsValues ? facts.noticed : undefined;
  return { rows, waitOf, checkFailureOf, proxyWords, calls, showsValues };
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
