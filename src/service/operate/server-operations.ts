// The operations on servers: finds the servers that are meant, has their rows changed, and answers in a sentence.

import { withSuggestion } from '../../base/wording.ts';
import { isAtRest } from '../../machine/drift.ts';
import {
  adoptedRow,
  correctedRow,
  type Entries,
  keptRow,
  relocatedRow,
  replacedRow,
  replaceRefusal,
  retainedRow,
  retainRefusal,
  retriedRow,
  unorderedRow,
} from '../../machine/requests.ts';
import { EVERY_INSTANCE } from '../../machine/suspension.ts';
import type { ServerRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { Asked, RowChange, RowRequests } from '../../reconcile/row-requests.ts';
import type { Order, RetryTarget, Target } from '../answers.ts';
import { hasInstance, requireInstance } from '../read/instance-views.ts';
import { Scope } from '../scope.ts';
import { activeView, type PresentRows, type ViewSources } from '../views.ts';

/** The inputs of {@link serverOperations}. */
export interface ServerOperationsOptions extends ViewSources {
  /** Has a server checked as soon as there is capacity. Returns false if it is not idle. */
  readonly requestCheck: (server: string) => boolean;
  /** Does the same where the last check of the server has failed. Returns false where it has not. */
  readonly retryCheck: (server: string) => boolean;
  readonly requests: RowRequests;
  readonly entries: Entries;
}

/** Returns the operations that have servers tried again, taken over, forgotten, made again or checked. */
export function serverOperations(options: ServerOperationsOptions) {
  const { requests, entries, rows } = options;
  const isHeld = ({ instance }: ServerRow): boolean => rows.read('held', instance) !== undefined;
  return {
    /**
     * Ends the waits of servers that failed, or whose checks fail. Where an instance or a server is named, also brings
     * back what has drifted, and makes again what is gone.
     */
    async retry(order: Order, target: RetryTarget): Promise<string> {
      if ('ignoreOrder' in target) return await ignoreOrder(order, target.resource, options);
      // Retrying everything is for what failed: those that drifted, or are not to be replaced, are named.
      const isNamed = 'instance' in target || 'resource' in target;
      const change = isNamed
        ? (row: ServerRow, at: string) => retriedRow(row, at) ?? correctedRow(row, at) ?? keptRow(row, at, isHeld(row))
        : retriedRow;
      const servers = selectServers(order, options, target);
      const changed = await requests.change(servers, asked(order, 'retry', change));
      const count = changed + servers.filter((server) => options.retryCheck(server)).length;
      if (count > 0) return `Tried again: ${count}`;
      const words = isNamed ? 'No server there has failed or drifted' : 'No server there has failed';
      throw new ServiceError('conflict', `${words}, so there is nothing to try again`);
    },
    /**
     * Takes over servers that were there before Treeline, or that another provider entry made; never deletes or
     * replaces one. Where a provider entry is named, also accepts another place of it.
     */
    adopt: (order: Order, target: Target): Promise<string> => adoptServers(order, target, options),
    /** Forgets an unwanted server, and leaves it as it is. */
    async retain(order: Order, server: string): Promise<string> {
      const servers = selectServers(order, options, { resource: server });
      const change = (row: ServerRow, now: string): ServerRow => {
        refuse(server, 'forgotten', retainRefusal(row));
        return retainedRow(row, now);
      };
      await requests.change(servers, asked(order, 'retain', change));
      return `${server} is forgotten, and left as it is`;
    },
    /** Deletes a server and creates it again. The request is the approval of it. */
    async replace(order: Order, server: string): Promise<string> {
      const servers = selectServers(order, options, { resource: server });
      const change = (row: ServerRow, now: string): ServerRow => {
        refuse(server, 'replaced', replaceRefusal(row, entries));
        return replacedRow(row, now);
      };
      await requests.change(servers, asked(order, 'replace', change));
      return `${server} is deleted and made again`;
    },
    /** Has servers checked as soon as there is capacity, whatever their drift policy. */
    check: (order: Order, target: Target): Promise<string> => checkServers(order, target, options),
  };
}

/** Has a server continue without waiting for others: so an operator breaks a cycle of waits. */
async function ignoreOrder(order: Order, server: string, options: ServerOperationsOptions): Promise<string> {
  const servers = selectServers(order, options, { resource: server });
  const count = await options.requests.change(servers, asked(order, 'retry', unorderedRow));
  if (count > 0) return `${server} continues without waiting for other servers`;
  throw new ServiceError('conflict', `${server} does not wait for another server`);
}

async function adoptServers(order: Order, target: Target, options: ServerOperationsOptions): Promise<string> {
  const { rows, requests, entries } = options;
  const servers = selectServers(order, options, target);
  const entry = 'provider' in target ? target.provider : undefined;
  const relocated = servers.filter((server) => entry !== undefined && rows.server(server)?.place?.provider === entry);
  const change = (row: ServerRow, now: string): ServerRow | undefined => {
    const moved = entry !== undefined && row.place?.provider === entry ? relocatedRow(row, now) : undefined;
    // One that the entry has only looked at may be a stranger's.
    const isOwn = entry === undefined || row.provider === entry;
    return (isOwn ? adoptedRow(moved ?? row, now, entries) : undefined) ?? moved;
  };
  const count = await requests.change(servers, asked(order, 'adopt', change));
  // The last check of each may have failed for its place, and its reason is shown until the next check.
  for (const server of relocated) options.requestCheck(server);
  if (count > 0) return `Adopted: ${count}`;
  const words =
    'No server there is blocked because it exists already, or because another provider entry matches it now';
  throw new ServiceError('conflict', entry === undefined ? words : `${words}, and none has a place`);
}

/**
 * The request itself is in memory: a check that a crash prevents changes nothing. That it was asked for is recorded
 * first.
 */
async function checkServers(order: Order, target: Target, options: ServerOperationsOptions): Promise<string> {
  const { rows, requests, entries, requestCheck } = options;
  const servers = selectServers(order, options, target).filter((server) => {
    const row = rows.server(server);
    return row !== undefined && isAtRest(row) && row.provider !== null && entries.has(row.provider);
  });
  const [name] = servers;
  const row = name === undefined ? undefined : rows.server(name);
  if (name === undefined || row === undefined) {
    const words = 'No server there is done or drifted, so there is nothing to compare';
    throw new ServiceError('conflict', `${words}: the others are checked when their next action needs it`);
  }
  const { instance, state } = row;
  const isOne = 'resource' in target;
  await requests.recordOperation(
    { instance, server: isOne ? { name, state } : null, step: isOne ? '' : `servers: ${servers.length}` },
    { ...askedBy(order), operation: 'check' },
  );
  const refusal = order.refusal();
  if (refusal !== undefined) throw refusal;
  for (const server of servers) requestCheck(server);
  return `Being checked: ${servers.length}`;
}

function refuse(server: string, done: string, refusal: string | undefined): void {
  if (refusal !== undefined) throw new ServiceError('conflict', `${server} cannot be ${done}: ${refusal}`);
}

function asked(order: Order, operation: string, change: RowChange['change']): RowChange {
  return { ...askedBy(order), operation, change };
}

type IsOwn = (server: readonly [name: string, row: ServerRow]) => boolean;

/**
 * Returns the client's servers that a provider entry has made, those that it has looked for and named its place, and
 * those that it is to make.
 */
function serversOfProvider(
  { rows, entries }: { readonly rows: PresentRows; readonly entries: Entries },
  provider: string,
  isOwn: IsOwn,
): readonly string[] {
  const servers = [...rows.list('server')].filter(isOwn);
  const isToMake = ({ provider: maker, wanted }: ServerRow): boolean =>
    maker === null && wanted !== null && entries.match(wanted) === provider;
  const found = servers.filter(
    ([, row]) => row.provider === provider || row.place?.provider === provider || isToMake(row),
  );
  if (found.length > 0) return found.map(([name]) => name);
  const providers = new Set(servers.flatMap(([, row]) => row.provider ?? []));
  const words = `No server belongs to the provider entry "${provider}"`;
  throw new ServiceError('not_found', withSuggestion(words, provider, providers));
}

/** Of all servers, and of those of a provider entry, the client's own are meant. */
function selectServers({ by }: Order, options: ServerOperationsOptions, target: Target): readonly string[] {
  const view = activeView(options);
  const { rows } = view;
  const scope = new Scope(by, options);
  const isOwn: IsOwn = ([name, { instance }]) => scope.seesServer(name) && scope.owns(instance);
  if ('all' in target) return [...rows.list('server')].filter(isOwn).map(([name]) => name);
  if ('provider' in target) return serversOfProvider({ rows, entries: options.entries }, target.provider, isOwn);
  if ('instance' in target) {
    const advice = `: name it as the resource (--resource ${target.instance})`;
    requireInstance(view, target.instance, { scope, advice });
    requireOwn(scope, target);
    return rows.index.serversOf(target.instance);
  }
  const row = scope.seesServer(target.resource) ? rows.server(target.resource) : undefined;
  if (row !== undefined) {
    requireOwn(scope, row);
    return [target.resource];
  }
  const words = `There is no server "${target.resource}"`;
  if (scope.seesInstance(target.resource) && hasInstance(view, target.resource)) {
    const advice = `it is a stack instance, and treeline status ${target.resource} shows its servers`;
    throw new ServiceError('not_found', `${words}; ${advice}`);
  }
  const names = scope.suggested(rows.list('server').keys());
  throw new ServiceError('not_found', withSuggestion(words, target.resource, names));
}

/** Returns who asks for an operation, for the rows. */
export function askedBy({ by, reason, refusal }: Order): Asked {
  return { by: by.serial, reason, refusal };
}

/**
 * Returns what is of an instance, or of all if that is null. Throws if the client does not see all of it, or does not
 * own it.
 */
export function requireOwn<Subject extends { readonly instance: string | null }>(
  scope: Scope,
  subject: Subject,
): Subject {
  const { instance } = subject;
  if (scope.isWhole) return subject;
  if (instance === null || instance === EVERY_INSTANCE)
    throw new ServiceError(
      'not_allowed',
      'This client sees a part of all instances: it may not decide for all of them',
    );
  if (scope.owns(instance)) return subject;
  throw new ServiceError('not_allowed', `${instance} is of no tenant, and operated by clients without tenant only`);
}
