// The operations on servers. Each finds its servers, requests the change of their rows, and answers with a sentence.

import { withSuggestion } from '../../base/wording.ts';
import { isIdle } from '../../machine/drift.ts';
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
  /** Does the same if the last check of the server failed; returns false otherwise. */
  readonly retryCheck: (server: string) => boolean;
  readonly requests: RowRequests;
  readonly entries: Entries;
}

/** Returns the operations that retry, adopt, retain, replace or check servers. */
export function serverOperations(options: ServerOperationsOptions) {
  const { requests, entries, rows } = options;
  const isHeld = ({ instance }: ServerRow): boolean => rows.read('held', instance) !== undefined;
  return {
    /**
     * Ends the waits of servers that failed or whose checks fail. If the request names an instance or a server, also
     * corrects drift and creates missing servers again.
     */
    async retry(order: Order, target: RetryTarget): Promise<string> {
      if ('ignoreOrder' in target) return await ignoreOrder(order, target.resource, options);
      // A retry without a name is for failures. Correcting drift or a refused replacement requires a name.
      const isNamed = 'instance' in target || 'resource' in target;
      const change = isNamed
        ? (row: ServerRow, at: string) => retriedRow(row, at) ?? correctedRow(row, at) ?? keptRow(row, at, isHeld(row))
        : retriedRow;
      const servers = selectServers(order, options, target);
      const changed = await requests.change(servers, asked(order, 'retry', change));
      const count = changed + servers.filter((server) => options.retryCheck(server)).length;
      if (count > 0) return `Tried again: ${count}`;
      const words = isNamed ? 'No selected server has failed or drifted' : 'No selected server has failed';
      throw new ServiceError('conflict', `${words}, so there is nothing to retry`);
    },
    /**
     * Adopts servers that existed before Treeline or that another provider entry created; never deletes or replaces
     * one. If the request names a provider entry, also accepts a new place of that entry.
     */
    adopt: (order: Order, target: Target): Promise<string> => adoptServers(order, target, options),
    /** Forgets an unwanted server and leaves it unchanged. */
    async retain(order: Order, server: string): Promise<string> {
      const servers = selectServers(order, options, { resource: server });
      const change = (row: ServerRow, now: string): ServerRow => {
        refuse(server, 'forgotten', retainRefusal(row));
        return retainedRow(row, now);
      };
      await requests.change(servers, asked(order, 'retain', change));
      return `${server} is forgotten, and left as it is`;
    },
    /** Deletes a server and creates it again. The request counts as the approval. */
    async replace(order: Order, server: string): Promise<string> {
      const servers = selectServers(order, options, { resource: server });
      const change = (row: ServerRow, now: string): ServerRow => {
        refuse(server, 'replaced', replaceRefusal(row, entries));
        return replacedRow(row, now);
      };
      await requests.change(servers, asked(order, 'replace', change));
      return `${server} will be deleted and created again`;
    },
    /** Checks servers as soon as there is capacity, under every drift policy. */
    check: (order: Order, target: Target): Promise<string> => checkServers(order, target, options),
  };
}

/** Lets a server continue without waiting for others, so that an operator can break a cycle of waits. */
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
    // A server that the entry has only checked may belong to somebody else.
    const isOwn = entry === undefined || row.provider === entry;
    return (isOwn ? adoptedRow(moved ?? row, now, entries) : undefined) ?? moved;
  };
  const count = await requests.change(servers, asked(order, 'adopt', change));
  // The last check may have failed because of the place. Its reason is shown until the next check.
  for (const server of relocated) options.requestCheck(server);
  if (count > 0) return `Adopted: ${count}`;
  const words =
    'No selected server is blocked because it exists already, or because another provider entry matches it now';
  throw new ServiceError('conflict', entry === undefined ? words : `${words}, and none has a place`);
}

/**
 * Records the operation, then requests the checks in memory: a check that is lost in a crash changes nothing.
 */
async function checkServers(order: Order, target: Target, options: ServerOperationsOptions): Promise<string> {
  const { rows, requests, entries, requestCheck } = options;
  const servers = selectServers(order, options, target).filter((server) => {
    const row = rows.server(server);
    return row !== undefined && isIdle(row) && row.provider !== null && entries.has(row.provider);
  });
  const [name] = servers;
  const row = name === undefined ? undefined : rows.server(name);
  if (name === undefined || row === undefined) {
    const words = 'No selected server is done or drifted, so there is nothing to compare';
    throw new ServiceError('conflict', `${words}: the others are checked only if their next action needs it`);
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
 * Returns the client's servers that a provider entry created, those that it checked at its place, and those that it
 * will create.
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

/** For all servers and for those of a provider entry, returns only servers that the client owns. */
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

/** Returns the requester and the reason of an operation, for the rows. */
export function askedBy({ by, reason, refusal }: Order): Asked {
  return { by: by.serial, reason, refusal };
}

/**
 * Returns the subject, which belongs to an instance (null: to all). Throws if the client does not own that instance, or
 * does not see all instances.
 */
export function requireOwn<Subject extends { readonly instance: string | null }>(
  scope: Scope,
  subject: Subject,
): Subject {
  const { instance } = subject;
  if (scope.isWhole) return subject;
  if (instance === null || instance === EVERY_INSTANCE)
    throw new ServiceError('not_allowed', 'This client sees only some instances, so it may not decide for all of them');
  if (scope.owns(instance)) return subject;
  throw new ServiceError('not_allowed', `${instance} has no tenant, so only clients without a tenant may operate it`);
}
