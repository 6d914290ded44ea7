// Explains why an instance is not done. See docs/rest.md, stack instances.

import type { DesiredState } from '../../desired/desired-state.ts';
import { stateWithReason } from '../../machine/reasons.ts';
import { EVERY_INSTANCE, suspendedUntil } from '../../machine/suspension.ts';
import type { AttentionKind, Cause, ReplicaFacts, StateCounts, WaitingItem, Why } from '../answers.ts';
import { instanceStatus } from '../read/instance-views.ts';
import type { Scope } from '../scope.ts';
import type { Facts } from './facts.ts';
import { countStates, rootItem, serverItems } from './server-items.ts';

const ITEMS_MAX = 1_000;

/** The causes that concern a whole instance, in the order of the answer, with the state to show. */
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
/** The causes that the overview shows for each instance. It lists all other causes once. */
export const STATUS_KINDS: readonly AttentionKind[] = ['recovery', 'held', 'invalid'];

/** Returns the facts about replicas that a client sees. */
export function replicaFacts({ scope, leader, lag }: Facts): ReplicaFacts {
  if (scope.isProxy || leader === undefined) return {};
  return lag === undefined ? { leader } : { leader, lag };
}

/**
 * Returns a function from an instance to its causes of these kinds, including causes that concern every instance.
 * `kinds`: default: all kinds that `why` shows.
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

/**
 * Returns why an existing instance is not done, with at most `itemsMax` items. `causes`: the causes that concern it.
 */
export function explainWaits(
  { name, causes }: { readonly name: string; readonly causes: readonly Cause[] },
  facts: Facts,
  itemsMax = ITEMS_MAX,
): Why {
  const { rows } = facts.view;
  const servers = rows.index.serversOf(name);
  const items = serverItems(servers, facts, itemsMax);
  const waiting = [...suspensions(name, facts), ...causes.map(itemOf), ...items].slice(0, itemsMax);
  const counts = countStates(servers.flatMap((server) => rows.server(server)?.state ?? []));
  return {
    status: instanceStatus(facts.view, name, facts.stallsOf),
    summary: summarize(
      waiting[0] && rootItem(waiting[0], facts),
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

function suspensions(name: string, { scope, view: { desired, rows, now } }: Facts): WaitingItem[] {
  return [name, EVERY_INSTANCE].flatMap((key): WaitingItem[] => {
    const row = rows.read('suspension', key);
    if (row === undefined || suspendedUntil(row, now) === undefined) return [];
    const what = key === EVERY_INSTANCE ? 'every instance' : name;
    const who = clientNameFor(row.by, scope, desired);
    const reason = `${who} suspended ${what}${row.reason === '' ? '' : `: ${row.reason}`}`;
    const action = `treeline resume ${key === EVERY_INSTANCE ? '--all' : name}`;
    return [{ resource: null, state: 'Suspended', reason, since: row.since, until: row.until, action }];
  });
}

/**
 * Returns the description of the client with this serial, or the serial itself. Depends on the scope alone, because
 * limited clients with equal limits share answers.
 */
export function clientNameFor(serial: string | null, scope: Scope, { clients }: DesiredState): string {
  if (!scope.seesClients) return 'an administrator';
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
