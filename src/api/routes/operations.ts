// Routes of docs/rest.md, operations.
import type { Response } from 'express';
import { isMap, type Json } from '../../model/json.ts';
import { isCommitId } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import type { Problem } from '../../model/problem.ts';
import { canonicalSerial } from '../../model/serial.ts';
import { ServiceError } from '../../model/service-error.ts';
import { DELIVERY_STATES, STATES } from '../../model/state.ts';
import type { Order, Target } from '../../service/answers.ts';
import type { DeliveredQuery } from '../../service/deliveries/delivered.ts';
import type { Operator } from '../../service/operate/operator.ts';
import { WITHHELD } from '../../service/progress/causes.ts';
import type { CommitQuery } from '../../service/progress/commit-reads.ts';
import type { ServerQuery } from '../../service/progress/server-list.ts';
import { writeAnswer, writeLong } from '../answer.ts';
import { auditAction, auditDone, operationFacts } from '../audit-requests.ts';
import { callerOf } from '../authenticate.ts';
import { allow, type Right } from '../authorize.ts';
import { readLag } from '../forward.ts';
import { jsonBody, REASON, readFields, TEXT, TIME, TRUE } from '../json-body.ts';
import { sendEnvelope } from '../present.ts';
import { queryChoices, queryNumber, queryText } from '../query.ts';
import { breathe, readsFrom } from '../reads.ts';
import type { RouteParts, RouteRequest, RouteTable } from './route-table.ts';

const TARGET = { instance: TEXT, resource: TEXT, provider: TEXT, all: TRUE, reason: REASON } as const;

/** Returns the routes below `/operations`. */
export function operationRoutes(parts: RouteParts): RouteTable {
  const { operator } = parts;
  return {
    ...listRoutes(parts),
    ...askedRoutes(parts),
    ...operation('approve', 'operate', (order, body) =>
      operator.approve(order, required('digest', readFields(body, { digest: TEXT, reason: REASON }).digest)),
    ),
    ...operation('accept-history', 'operate', (order, body) =>
      operator.acceptHistory(order, required('commit', readFields(body, { commit: TEXT, reason: REASON }).commit)),
    ),
    ...operation('suspend', 'operate', (order, body) => {
      const { instance = null, until = null } = readFields(body, { instance: TEXT, until: TIME, reason: REASON });
      return operator.suspend(order, { instance, until });
    }),
    ...operation('resume', 'operate', (order, body) => resume(operator, order, body)),
    ...operation('acknowledge', 'operate', (order, body) => operator.acknowledge(order, readAcknowledgement(body))),
    ...operation('retry', 'retry', (order, body) => {
      const { ignoreOrder, ...fields } = readFields(body, { ...TARGET, ignoreOrder: TRUE });
      const target = readTarget(fields, ['instance', 'resource', 'provider']);
      if (ignoreOrder === undefined) return operator.retry(order, target);
      if ('resource' in target) return operator.retry(order, { ...target, ignoreOrder });
      throw new ServiceError('invalid_input', '"ignoreOrder" requires "resource"');
    }),
    ...operation('adopt', 'operate', (order, body) =>
      operator.adopt(order, readTarget(readFields(body, TARGET), ['instance', 'resource', 'provider'])),
    ),
    ...operation('retain', 'operate', (order, body) => operator.retain(order, readResource(body))),
    ...operation('replace', 'operate', (order, body) => operator.replace(order, readResource(body))),
    ...operation('check', 'operate', (order, body) => {
      const { instance, resource } = readFields(body, { instance: TEXT, resource: TEXT, reason: REASON });
      return operator.check(order, readTarget({ instance, resource }, ['instance', 'resource'], false));
    }),
  };
}

/** Returns the route of an operation: its right, and its handler. */
function operation(name: string, right: Right, carryOut: CarryOut): RouteTable {
  return { [`/operations/${name}`]: { POST: [allow(right), jsonBody(), handlerOf(name, carryOut)] } };
}

type CarryOut = (order: Order, body: unknown) => Promise<string>;

function readResource(body: unknown): string {
  return required('resource', readFields(body, { resource: TEXT, reason: REASON }).resource);
}

function resume(operator: RouteParts['operator'], order: Order, body: unknown): Promise<string> {
  const fields = readFields(body, { instance: TEXT, recovery: TEXT, force: TRUE, reason: REASON });
  const { instance = null, recovery, force = false } = fields;
  if (recovery === undefined ? force : instance !== null)
    throw new ServiceError('invalid_input', 'Name either "instance", or "recovery", which may have "force"');
  return recovery === undefined ? operator.resume(order, instance) : operator.endRecovery(order, { recovery, force });
}

/** Returns the routes of recorded state. */
function listRoutes(parts: RouteParts): RouteTable {
  const { operator, controller } = parts;
  const { live, list } = readsFrom(parts);
  const long = (make: (request: RouteRequest, client: Client) => unknown) =>
    list((request, client) => writeLong(make(request, client), breathe));
  return {
    '/operations/status': { GET: long((request, client) => operator.overview(client, readLag(request))) },
    '/operations/servers': { GET: long((request, client) => operator.servers(client, readServerQuery(request))) },
    '/operations/servers/:server': {
      GET: live(({ params }, client) => ({ body: operator.server(client, params.server) })),
    },
    '/operations/commits': {
      GET: long((request, client) => operator.commits(client, readCommitQuery(request))),
    },
    '/operations/recovery': { GET: long((_request, client) => operator.recovery(client)) },
    '/operations/held': { GET: long((_request, client) => ({ held: operator.held(client) })) },
    '/operations/recorded': { GET: long((_request, client) => operator.recorded(client)) },
    '/operations/notifications': { GET: [allow('read notifications'), long(() => operator.notifications())] },
    '/operations/controller': { GET: live(() => ({ body: controller })) },
    '/operations/clients': { GET: live((_request, client) => ({ body: { clients: operator.clients(client) } })) },
    '/operations/providers': { GET: live((_request, client) => ({ body: { providers: operator.providers(client) } })) },
    '/operations/problems': {
      GET: live((_request, client) => ({ body: problemsFor(client, operator.problems(client)) })),
    },
  };
}

/**
 * Returns the routes of reads that query git, for example for the last change of a file.
 */
function askedRoutes(parts: RouteParts): RouteTable {
  const { operator, explainer } = parts;
  const { list } = readsFrom(parts);
  return {
    '/operations/delivered': {
      GET: list(async (request, client) => {
        const query = readDeliveredQuery(request);
        const commit = queryText(request, 'commit');
        if (commit !== undefined && !isCommitId(commit))
          throw new ServiceError('invalid_input', `"commit" is the full id of one commit, not "${commit}"`);
        const asked = commit === undefined ? undefined : await operator.askedCommit(commit);
        return await writeLong(operator.delivered(client, { ...query, asked }), breathe);
      }),
    },
    '/operations/commits/:oid': {
      GET: list(async ({ params }, client) => writeLong(await operator.commit(client, params.oid), breathe)),
    },
    '/operations/explain/:clientcert': {
      GET: list(async ({ params }, client) => writeAnswer(await explainer.explain(client, params.clientcert))),
    },
    '/operations/explain/:clientcert/:key': {
      GET: list(async ({ params }, client) =>
        writeAnswer(await explainer.explain(client, params.clientcert, params.key)),
      ),
    },
  };
}

function readDeliveredQuery(request: RouteRequest): DeliveredQuery {
  const states = queryChoices(request, 'state', DELIVERY_STATES, 'outdated,failed');
  return { instance: queryText(request, 'instance') ?? null, states, ...readPage(request) };
}

function readCommitQuery(request: RouteRequest): CommitQuery {
  const states = queryChoices(request, 'state', COMMIT_STATES);
  return { instance: queryText(request, 'instance') ?? null, states, ...readPage(request) };
}

const COMMIT_STATES = ['followed', 'refused', 'pending'] as const;
const SERVERS = { most: 500, usual: 100, nameLengthMax: 250 };

function readServerQuery(request: RouteRequest): ServerQuery {
  return {
    instance: queryText(request, 'instance') ?? null,
    states: queryChoices(request, 'state', STATES),
    search: readName(request, 'search'),
    ...readPage(request),
  };
}

function readPage(request: RouteRequest): { readonly after: string; readonly limit: number } {
  const limit = queryNumber(request, 'limit', { least: 1, most: SERVERS.most, other: SERVERS.usual });
  return { after: readName(request, 'after'), limit };
}

function readName(request: RouteRequest, parameter: string): string {
  const text = queryText(request, parameter) ?? '';
  if (text.length <= SERVERS.nameLengthMax) return text;
  throw new ServiceError('invalid_input', `A name has at most ${SERVERS.nameLengthMax} characters`);
}

/** Returns the handler that performs an operation and answers with its result. */
function handlerOf(name: string, carryOut: CarryOut) {
  return async (request: RouteRequest, response: Response): Promise<void> => {
    const order = { ...callerOf(request), reason: givenReason(request.body) };
    auditAction(response, operationFacts(name, request.body, order.reason));
    const text = await carryOut(order, request.body);
    auditDone(response);
    sendEnvelope(response, 200, text);
  };
}

/** Ignores an invalid reason, which is refused with the other fields. */
function givenReason(body: Json): string {
  const reason = isMap(body) ? body.reason : undefined;
  return reason !== undefined && REASON.accepts(reason) ? reason : '';
}

function readAcknowledgement(body: unknown): Parameters<Operator['acknowledge']>[1] {
  const { instance, until, end } = readFields(body, { instance: TEXT, until: TIME, end: TRUE, reason: REASON });
  if ((until === undefined) === (end === undefined)) {
    throw new ServiceError('invalid_input', 'Name exactly one of "until", or "end": true');
  }
  return { instance: required('instance', instance), until: until ?? null };
}

function required(name: string, value: string | undefined): string {
  if (value !== undefined && value !== '') return value;
  throw new ServiceError('invalid_input', `"${name}" is missing`, [{ pointer: `/${name}`, message: 'is missing' }]);
}

interface TargetFields {
  readonly instance?: string | undefined;
  readonly resource?: string | undefined;
  readonly provider?: string | undefined;
  readonly all?: true | undefined;
}

/**
 * Returns the only target in the fields. `choices`: the targets of the operation; `takesAll`: whether `all` is one.
 */
function readTarget(
  { instance, resource, provider, all }: TargetFields,
  choices: readonly string[],
  takesAll = true,
): Target {
  const targets: Target[] = [];
  if (instance !== undefined) targets.push({ instance });
  if (resource !== undefined) targets.push({ resource });
  if (provider !== undefined) targets.push({ provider });
  if (all !== undefined) targets.push({ all });
  const [target, second] = targets;
  if (target !== undefined && second === undefined) return target;
  const names = choices.map((name) => `"${name}"`).join(', ');
  throw new ServiceError('invalid_input', `Name exactly one of ${names}${takesAll ? ', or "all": true' : ''}`);
}

/**
 * Returns the problems that a client may see. Roles that may read clients see all of them. A proxy sees which file is
 * wrong and where, but not the message, which may quote values that no other read shows. Below `clients/` it sees only
 * its own file, because the names of these files are serials.
 */
export function problemsFor(client: Client, all: ReturnType<Operator['problems']>): ReturnType<Operator['problems']> {
  if (client.role !== 'proxy') return all;
  return { ...all, problems: all.problems.flatMap((problem) => problemFor(client, problem)) };
}

function problemFor({ serial }: Client, problem: Problem): Problem[] {
  const inClients = /^clients\/(?:.*\/)?([^/]*?)(?:\.[^./]*)?$/.exec(problem.file);
  if (inClients === null) return [{ ...problem, pointer: '', message: WITHHELD, hint: null }];
  return canonicalSerial(inClients[1] ?? '') === serial ? [problem] : [];
}
