// Explains why servers of an instance are not done, with one item for each server. See docs/rest.md, stack instances.

import { quoteSome, toRfc3339, withSuggestion } from '../../base/wording.ts';
import { differingNames, shortenedValue } from '../../machine/drift.ts';
import { unknownOutputs } from '../../machine/read-outputs.ts';
import { isStuck, reasonText } from '../../machine/reasons.ts';
import type { WaitView } from '../../machine/wait.ts';
import { fieldOf } from '../../model/json.ts';
import { compareNames, PROXIED } from '../../model/names.ts';
import type { ServerRow } from '../../model/rows.ts';
import { STATES, type State } from '../../model/state.ts';
import type { SilentEntry } from '../../reconcile/checks/entry-answers.ts';
import type { CheckFailure } from '../../reconcile/checks/server-checks.ts';
import type { PropertyDifference, StateCounts, WaitingItem } from '../answers.ts';
import { type Facts, seenRow } from './facts.ts';

/** The order of items: states that need an operator first, servers that wait for others last. */
const URGENCY: readonly State[] = [
  'blocked',
  'failed',
  'drifted',
  'unknown',
  'retrying',
  'creating',
  'updating',
  'deleting',
  'pending',
  'marked for delete',
];

/** The limit of a chain of servers in which each waits for the next. */
const CHAIN_MAX = 100;

/** Returns the number of servers in each state, in the order of the states. */
export function countStates(states: Iterable<State>): StateCounts {
  const found = Map.groupBy(states, (state) => state);
  return Object.fromEntries(STATES.flatMap((state) => (found.has(state) ? [[state, found.get(state)?.length]] : [])));
}

/**
 * Returns at most `countMax` items: one for each server that is not done, the most urgent first, then one for each done
 * server that could not be checked or that keeps a value whose output is no longer reported.
 */
export function serverItems(servers: readonly string[], facts: Facts, countMax: number): readonly WaitingItem[] {
  const byState = Map.groupBy(servers, (server) => seenRow(server, facts)?.state);
  const names = URGENCY.flatMap((state) => (byState.get(state) ?? []).sort(compareNames));
  const open = names.slice(0, countMax).flatMap((name) => {
    const row = seenRow(name, facts);
    return row === undefined ? [] : [describeWaiting(name, row, facts)];
  });
  if (open.length >= countMax) return open;
  return [...open, ...uncheckedItems(servers, facts), ...keptItems(servers, facts)].slice(0, countMax);
}

/** Returns an item for each done server whose checks fail. */
function uncheckedItems(servers: readonly string[], facts: Facts): WaitingItem[] {
  return servers.flatMap((resource): WaitingItem[] => {
    const failure = facts.checkFailureOf(resource);
    const state = seenRow(resource, facts)?.state;
    if (failure === undefined || state !== 'done') return [];
    const since = toRfc3339(failure.since);
    return [{ resource, state, reason: uncheckedWords(failure), since, until: null, action: answering(resource) }];
  });
}

/**
 * Returns an item for each done server with an output that is unknown: the server keeps the last value, or lacks one
 * that only its configuration uses.
 */
function keptItems(servers: readonly string[], facts: Facts): WaitingItem[] {
  return servers.flatMap((resource): WaitingItem[] => {
    const { state, wanted, since = null } = seenRow(resource, facts) ?? {};
    if (state !== 'done' || wanted?.reads === undefined) return [];
    const outputsOf = (server: string) => seenRow(server, facts)?.outputs;
    // The outputs of a server that the client does not see are always unknown here.
    const found = [...unknownOutputs(wanted, { outputsOf })].find(
      ([, { server }]) => seenRow(server, facts) !== undefined,
    );
    if (found === undefined) return [];
    const [property, { server, output, fault }] = found;
    const what = Object.hasOwn(wanted.properties, property) ? 'keeps its last' : 'has no';
    const reason = `it ${what} "${property}": the output "${output}" of ${server} ${fault ?? 'is not reported'}`;
    return [{ resource, state, reason, since, until: null, action: null }];
  });
}

/**
 * Returns the item of the server at the end of the chain of waits; the same item if its server waits for no other.
 */
export function rootItem(first: WaitingItem, facts: Facts): WaitingItem {
  const root = first.resource === null ? null : rootOf(first.resource, facts);
  const row = root === null ? undefined : seenRow(root, facts);
  return root === null || root === first.resource || row === undefined ? first : describeWaiting(root, row, facts);
}

/**
 * Returns the item of a server that is not done or could not be checked; undefined if there is nothing to report.
 */
export function describeServer(name: string, row: ServerRow, facts: Facts): WaitingItem | undefined {
  if (row.state !== 'done') return describeWaiting(name, row, facts);
  return uncheckedItems([name], facts)[0] ?? keptItems([name], facts)[0];
}

/** Returns the words for since when and why a server could not be checked. */
export function uncheckedWords({ since, message }: CheckFailure): string {
  return `it could not be checked since ${toRfc3339(since)}${message === '' ? '' : `: ${message}`}`;
}

function differenceIn(row: ServerRow, { scope }: Facts): Pick<WaitingItem, 'difference'> {
  const difference = scope.isProxy ? [] : propertyDifferences(row);
  return difference.length === 0 ? {} : { difference };
}

function describeWaiting(resource: string, row: ServerRow, facts: Facts): WaitingItem {
  const { state, since } = row;
  if (isRunning(state)) {
    const reason = runningReason(resource, row, facts);
    return { resource, state, reason, since, until: row.action?.deadline ?? null, action: null };
  }
  const action = adviceFor(resource, row);
  if (state !== 'blocked' && state !== 'drifted' && !isStuck(row)) {
    const item = waitingItem(resource, row, facts);
    return { ...item, action: action ?? item.action };
  }
  const failure = state === 'drifted' ? facts.checkFailureOf(resource) : undefined;
  const unchecked = failure === undefined ? '' : `; ${uncheckedWords(failure)}`;
  const reason = `${reasonText(row.reason)}${state === 'blocked' ? reportedWords(row, facts) : unchecked}`;
  const difference = state === 'drifted' ? differenceIn(row, facts) : {};
  return { resource, state, reason, since, until: null, action, ...difference };
}

function isRunning(state: State): boolean {
  return state === 'creating' || state === 'updating' || state === 'deleting';
}

function runningReason(resource: string, { action, attempt, reason }: ServerRow, facts: Facts): string {
  const tries = attempt === 0 ? '' : `, try ${attempt + 1}`;
  const { provider, claim } = action ?? {};
  const who = claim === undefined ? `the provider entry "${provider}"` : proxyWords(claim.client, facts);
  const silence = claim === undefined ? unansweredWords(provider, facts) : '';
  const lostTry = attempt === 0 || silence !== '' ? undefined : callsOf(facts)?.lostBecause(resource);
  const last = lostTry === undefined ? silence : `the last try had no answer: ${lostTry}`;
  const words = [`${who} carries out the ${action?.operation}${tries}`, last, reasonText(reason)];
  return words.filter((text) => text !== '').join('; ');
}

function proxyWords(serial: string, { scope, view: { desired }, heardAt }: Facts): string {
  const description = desired.clients.get(serial)?.entry.object?.description ?? '';
  const name = description === '' ? serial : `${description} (${serial})`;
  const who = scope.seesPerson(serial) ? `the proxy ${name}` : 'a proxy';
  if (heardAt === undefined) return who;
  const time = heardAt(serial);
  return `${who}, ${time === undefined ? 'not heard of since the start of the controller' : `last heard of at ${toRfc3339(time)}`},`;
}

/** Returns the words for since when a provider entry has not answered, and how its last call ended. */
export function silentWords({ since, reason }: Pick<SilentEntry, 'since' | 'reason'>): string {
  return `has answered nothing since ${since}, the last time: ${reason}`;
}

/** Returns the words for a provider entry whose calls have no answer; empty if the last call had one. */
function unansweredWords(entry: string | undefined, facts: Facts): string {
  const unanswered = entry === undefined ? undefined : callsOf(facts)?.unansweredOf(entry);
  return unanswered === undefined ? '' : `it ${silentWords(unanswered)}`;
}

/** A proxy does not see the calls of provider entries. */
function callsOf({ scope, noticed }: Facts): Facts['noticed'] {
  return scope.isProxy ? undefined : noticed;
}

/**
 * Returns the words for a server that waits for nothing in the rows. It may wait for a running check, which an action
 * does not interrupt.
 */
function idleWords(resource: string, facts: Facts): string {
  const call = callsOf(facts)?.callOf(resource);
  if (call === undefined) return 'is about to be processed';
  const who = call.provider === PROXIED ? 'a proxy' : `the provider entry "${call.provider}"`;
  const words = `${who} checks it first, since ${toRfc3339(call.claimed.wall)}`;
  return [words, unansweredWords(call.provider, facts)].filter((text) => text !== '').join('; ');
}

function waitingItem(resource: string, row: ServerRow, facts: Facts): WaitingItem {
  const { state, since, due } = row;
  const wait = facts.waitOf(resource);
  const root = wait?.server == null ? undefined : rootOf(wait.server, facts);
  const about = wait === undefined ? '' : `${rootWords(wait, root, facts)}${reportedWords(row, facts)}`;
  const waits = wait === undefined ? idleWords(resource, facts) : `${wait.reason}${about}`;
  const reason = reasonText(row.reason);
  const isTold = row.reason !== null && (due !== null || wait === undefined);
  const owner = root === undefined ? undefined : seenRow(root, facts)?.instance;
  const elsewhere = owner === undefined || owner === row.instance ? null : `treeline why ${owner}`;
  return {
    resource,
    state,
    since,
    reason: isTold ? reason : [reason, waits].filter((text) => text !== '').join('; '),
    until: due ?? wait?.until ?? null,
    action: wait?.action ?? elsewhere,
    ...differenceIn(row, facts),
  };
}

/**
 * Returns the last server of the chain of waits that begins with this one: it waits for no server, or for an output of
 * a done server.
 */
function rootOf(server: string, facts: Facts): string {
  const seen = new Set([server]);
  for (let root = server; ; ) {
    const next = facts.waitOf(root)?.server;
    if (next == null || seen.has(next) || seen.size >= CHAIN_MAX || seenRow(next, facts)?.state === 'done') return root;
    seen.add(next);
    root = next;
  }
}

function rootWords({ server }: WaitView, root: string | undefined, facts: Facts): string {
  const first = server === null ? undefined : seenRow(server, facts);
  if (server === null || first === undefined) return '';
  const last = root === undefined || root === server ? undefined : seenRow(root, facts);
  const words = `; ${server} is ${stateWords(first)}`;
  const chain = last === undefined ? words : `${words}, and waits in the end for ${root}, which is ${stateWords(last)}`;
  const end = root === undefined || (last ?? first).state !== 'pending' ? undefined : facts.waitOf(root);
  const isEnd = end?.server != null && seenRow(end.server, facts)?.state === 'done';
  return isEnd ? `${chain} and ${end.reason}` : chain;
}

/**
 * Returns the reported outputs if a server waits for another output of the same source, whose name may be a mistake.
 */
function reportedWords({ state, reason, wanted }: ServerRow, facts: Facts): string {
  if (wanted?.reads === undefined || (state === 'blocked' && reason?.code !== 'no_output')) return '';
  const [unknown] = unknownOutputs(wanted, { outputsOf: (server) => seenRow(server, facts)?.outputs }).values();
  const source = unknown?.fault === null ? seenRow(unknown.server, facts) : undefined;
  if (unknown === undefined || source?.state !== 'done') return '';
  const names = Object.keys(source.outputs);
  const reported = names.length === 0 ? 'no outputs' : quoteSome(names.sort(compareNames));
  return withSuggestion(`; reported of ${unknown.server}: ${reported}`, unknown.output, names);
}

function stateWords({ state, reason }: ServerRow): string {
  return (state === 'failed' || state === 'blocked') && reason !== null ? `${state} (${reasonText(reason)})` : state;
}

/**
 * Returns the advice for a server that does not continue or could not be checked; null if there is none. `target`: the
 * arguments that name the servers in a command; default: this server.
 */
export function adviceFor(name: string, row: ServerRow, target = `--resource ${name}`): string | null {
  const retry = `treeline retry ${target}`;
  switch (row.state) {
    case 'failed':
    case 'retrying':
      if (row.wanted === null) return `${retry}; or, to forget it and leave it as it is: treeline retain ${name}`;
      return row.state === 'failed' ? `correct that, then push, or: ${retry}` : retry;
    case 'drifted':
      if (row.reason?.code !== 'many_gone') return `${retry}, or push a commit that changes it`;
      return `find out whether they are gone or their provider answers wrongly; to create them again: ${retry}`;
    case 'blocked':
      return unblocking(name, row, target);
    case 'unknown':
      if (isStuck(row)) return unblocking(name, row, target);
      return row.reason?.code === 'check_failed' ? answering(name) : null;
    case 'done':
      return answering(name);
    default:
      return null;
  }
}

function answering(resource: string): string {
  return (
    'correct what keeps the check from answering; it is checked again automatically, and at once with: ' +
    `treeline retry --resource ${resource}`
  );
}

function unblocking(resource: string, row: ServerRow, target: string): string | null {
  switch (row.reason?.code) {
    case 'exists_already':
      return `treeline adopt ${target}`;
    case 'protected':
      return (
        `revert the change, or push "protected: false" for ${row.instance} first; if it is not to be ` +
        `built again: treeline retry --resource ${resource}`
      );
    case 'no_proxy':
      return 'register a proxy with that tag, and make sure that it runs; or add an entry to execution.providers in the settings';
    case 'no_output':
      return 'have its provider report that output, or correct the template, and push; it continues automatically';
    case 'output_fight':
      return `treeline retry --resource ${resource}`;
    case 'no_provider':
    case 'provider_changed': {
      const settings = 'correct execution.providers in the settings, and start the controller again';
      if (row.wanted === null || (!isStuck(row) && row.reason.code === 'no_provider')) return settings;
      const adopt = `; or, if the entry that matches now has the server: treeline adopt --resource ${resource}`;
      const replace = `; or, to delete it and create it there again: treeline replace ${resource}`;
      return `${settings}${adopt}${isStuck(row) || row.applied === null ? '' : replace}`;
    }
    default:
      return null;
  }
}

/**
 * Returns the known differences of a server with the applied, observed and wanted value, sorted by property; empty if
 * there is none or the server is gone.
 */
function propertyDifferences({ applied, observed, wanted }: ServerRow): readonly PropertyDifference[] {
  return differingNames(observed).map((property) => ({
    property,
    applied: shortenedValue(fieldOf(applied?.properties ?? {}, property) ?? null),
    observed: fieldOf(observed ?? {}, property) ?? null,
    wanted: shortenedValue(fieldOf(wanted?.properties ?? {}, property) ?? null),
  }));
}
