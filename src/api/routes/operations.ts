// Routes of docs/rest.md, operations.
import { type Request, type Response, Router } from 'express';
import { didYouMean } from '../../base/wording.ts';
import { isMap, type Json } from '../../model/json.ts';
import { isCommitId } from '../../model/names.ts';
import type { Client } from '../../model/objects.ts';
import type { Problem } from '../../model/problem.ts';
import { canonicalSerial } from '../../model/serial.ts';
import { ServiceError } from '../../model/service-error.ts';
import { DELIVERY_STATES, type DeliveryState, STATES, type State } from '../../model/state.ts';
import type { Order, Target } from '../../service/answers.ts';
import type { DeliveredQuery } from '../../service/deliveries/delivered.ts';
import type { Operator } from '../../service/operate/operator.ts';
import { WITHHELD } from '../../service/progress/causes.ts';
import type { CommitQuery } from '../../service/progress/commit-reads.ts';
import type { ServerQuery } from '../../service/progress/server-list.ts';
import { writeAnswer, writeLong } from '../answer.ts';
import { auditAction, auditDone, operationFacts } from '../audit-requests.ts';
import { callerOf, clientOf } from '../authenticate.ts';
import { allow, type Right } from '../authorize.ts';
import { readLag } from '../forward.ts';
import { jsonBody, REASON, readFields, TEXT, TIME, TRUE } from '../json-body.ts';
import { only } from '../only.ts';
import { sendEnvelope } from '../present.ts';
import { queryNumber, queryText } from '../query.ts';
import { breathe, type ListReads, readList, readsOn } from '../reads.ts';
import type { RouteParts } from './route-parts.ts';

const TARGET = { instance: TEXT, resource: TEXT, provider: TEXT, all: TRUE, reason: REASON } as const;

/** Returns the routes below `/operations`. */
export function operationRoutes({ reader, operator, explainer, lists, controller }: RouteParts): Router {
  const router = Router({ caseSensitive: true });
  const reads = { reader };
  const addRead = readsOn(router, reads);
  addLists(router, { operator, reads: { ...reads, lists } });
  addAsked(router, { reader, operator, explainer, lists });
  addRead('/operations/controller', () => ({ body: controller }));
  addRead('/operations/clients', (request) => ({ body: { clients: operator.clients(clientOf(request)) } }));
  addRead('/operations/providers', (request) => ({ body: { providers: operator.providers(clientOf(request)) } }));
  addRead<{ server: string }>('/operations/servers/:server', (request) => ({
    body: operator.server(clientOf(request), request.params.server),
  }));
  addRead('/operations/problems', (request) => ({
    body: problemsFor(clientOf(request), operator.problems(clientOf(request))),
  }));

  /** One operation: who may do it, and what it does with its body. */
  function operation(name: string, right: Right, carryOut: (order: Order, body: unknown) => Promise<string>): void {
    router.route(`/operations/${name}`).all(only('POST')).post(allow(right), jsonBody(), handlerOf(name, carryOut));
  }

  operation('approve', 'operate', (order, body) => {
    return operator.approve(order, required('digest', readFields(body, { digest: TEXT, reason: REASON }).digest));
  });
  operation('accept-history', 'operate', (order, body) => {
    return operator.acceptHistory(order, required('commit', readFields(body, { commit: TEXT, reason: REASON }).commit));
  });
  operation('suspend', 'operate', (order, body) => {
    const { instance = null, until = null } = readFields(body, { instance: TEXT, until: TIME, reason: REASON });
    return operator.suspend(order, { instance, until });
  });
  operation('resume', 'operate', (order, body) => resume(operator, order, body));
  operation('acknowledge', 'operate', (order, body) => operator.acknowledge(order, readAcknowledgement(body)));
  operation('retry', 'retry', (order, body) => {
    const { ignoreOrder, ...fields } = readFields(body, { ...TARGET, ignoreOrder: TRUE });
    const target = readTarget(fields, ['instance', 'resource', 'provider']);
    if (ignoreOrder === undefined) return operator.retry(order, target);
    if ('resource' in target) return operator.retry(order, { ...target, ignoreOrder });
    throw new ServiceError('invalid_input', '"ignoreOrder" is for one "resource"');
  });
  operation('adopt', 'operate', (order, body) => {
    return operator.adopt(order, readTarget(readFields(body, TARGET), ['instance', 'resource', 'provider']));
  });
  operation('retain', 'operate', (order, body) => {
    return operator.retain(order, required('resource', readFields(body, { resource: TEXT, reason: REASON }).resource));
  });
  operation('replace', 'operate', (order, body) => {
    return operator.replace(order, required('resource', readFields(body, { resource: TEXT, reason: REASON }).resource));
  });
  operation('check', 'operate', (order, body) => {
    const { instance, resource } = readFields(body, { instance: TEXT, resource: TEXT, reason: REASON });
    return operator.check(order, readTarget({ instance, resource }, ['instance', 'resource'], false));
  });
  return router;
}

function resume(operator: RouteParts['operator'], order: Order, body: unknown): Promise<string> {
  const fields = readFields(body, { instance: TEXT, recovery: TEXT, force: TRUE, reason: REASON });
  const { instance = null, recovery, force = false } = fields;
  if (recovery === undefined ? force : instance !== null)
    throw new ServiceError('invalid_input', 'Name either "instance", or "recovery", which may have "force"');
  return recovery === undefined ? operator.resume(order, instance) : operator.endRecovery(order, { recovery, force });
}

interface ListParts extends Pick<RouteParts, 'operator'> {
  readonly reads: ListReads;
}

/** Adds the lists of what is recorded. */
function addLists(router: Router, { operator, reads }: ListParts): void {
  const add = (name: string, make: (request: Request) => unknown, right?: Right): void => {
    const route = router.route(`/operations/${name}`).all(only('GET'));
    if (right !== undefined) route.get(allow(right));
    route.get(readList(reads, (request) => writeLong(make(request), breathe)));
  };
  add('status', (request) => operator.overview(clientOf(request), readLag(request)));
  add('servers', (request) => operator.servers(clientOf(request), readServerQuery(request)));
  add('commits', (request) => operator.commits(clientOf(request), readCommitQuery(request)));
  add('recovery', (request) => operator.recovery(clientOf(request)));
  add('recorded', (request) => operator.recorded(clientOf(request)));
  add('notifications', () => operator.notifications(), 'read notifications');
}

/**
 * Adds the reads for which git is asked: who are the authors of commits, which of them include another one, what
 * changed a file last.
 */
function addAsked(
  router: Router,
  { reader, operator, explainer, lists }: Pick<RouteParts, 'reader' | 'operator' | 'explainer' | 'lists'>,
): void {
  router
    .route('/operations/held')
    .all(only('GET'))
    .get(
      readList({ reader, lists }, async (request) => {
        return await writeLong({ held: await operator.heldWithAuthors(clientOf(request)) }, breathe);
      }),
    );
  router
    .route('/operations/delivered')
    .all(only('GET'))
    .get(
      readList({ reader, lists }, async (request) => {
        const query = readDeliveredQuery(request);
        const commit = queryText(request, 'commit');
        if (commit !== undefined && !isCommitId(commit))
          throw new ServiceError('invalid_input', `"commit" is the full id of one commit, not "${commit}"`);
        const asked = commit === undefined ? undefined : await operator.askedCommit(commit);
        return await writeLong(operator.delivered(clientOf(request), { ...query, asked }), breathe);
      }),
    );
  router
    .route('/operations/commits/:oid')
    .all(only('GET'))
    .get(
      readList<{ oid: string }>({ reader, lists }, async (request) => {
        return await writeLong(await operator.commit(clientOf(request), request.params.oid), breathe);
      }),
    );
  router
    .route('/operations/explain/:node{/:key}')
    .all(only('GET'))
    .get(
      readList<{ node: string; key?: string }>({ reader, lists }, async (request) => {
        const { node, key } = request.params;
        return writeAnswer(await explainer.as(clientOf(request)).explain(node, key));
      }),
    );
}

function readDeliveredQuery(request: Request): DeliveredQuery {
  const states = (queryText(request, 'state') ?? 'outdated,failed').split(',').map(deliveryStateNamed);
  return { instance: queryText(request, 'instance') ?? null, states, ...readPage(request) };
}

function deliveryStateNamed(text: string): DeliveryState {
  const state = DELIVERY_STATES.find((known) => known === text);
  if (state !== undefined) return state;
  throw new ServiceError('invalid_input', `There is no such state "${text}"; they are ${DELIVERY_STATES.join(', ')}`);
}

function readCommitQuery(request: Request): CommitQuery {
  const text = queryText(request, 'state') ?? '';
  const states = text === '' ? [] : text.split(',').map(commitStateNamed);
  return { instance: queryText(request, 'instance') ?? null, states, ...readPage(request) };
}

function commitStateNamed(text: string): CommitQuery['states'][number] {
  const state = COMMIT_STATES.find((known) => known === text);
  if (state !== undefined) return state;
  throw new ServiceError('invalid_input', `There is no such state "${text}"; they are ${COMMIT_STATES.join(', ')}`);
}

const COMMIT_STATES = ['followed', 'refused', 'pending'] as const;
const SERVERS = { most: 500, usual: 100, nameLengthMax: 250 };

function readServerQuery(request: Request): ServerQuery {
  const search = readName(request, 'search');
  return {
    instance: queryText(request, 'instance') ?? null,
    states: readStates(request),
    search,
    ...readPage(request),
  };
}

function readPage(request: Request): { readonly after: string; readonly limit: number } {
  const limit = queryNumber(request, 'limit', { least: 1, most: SERVERS.most, other: SERVERS.usual });
  return { after: readName(request, 'after'), limit };
}

function readName(request: Request, parameter: string): string {
  const text = queryText(request, parameter) ?? '';
  if (text.length <= SERVERS.nameLengthMax) return text;
  throw new ServiceError('invalid_input', `A name has at most ${SERVERS.nameLengthMax} characters`);
}

function readStates(request: Request): readonly State[] {
  const text = queryText(request, 'state') ?? '';
  return text === '' ? [] : text.split(',').map(stateNamed);
}

function stateNamed(text: string): State {
  const state = STATES.find((known) => known === text);
  if (state !== undefined) return state;
  const advice = didYouMean(text, STATES) ?? `the states are ${STATES.join(', ')}`;
  throw new ServiceError('invalid_input', `There is no state "${text}"; ${advice}`);
}

/** Returns the handler that carries an operation out, and answers with the result. */
function handlerOf(name: string, carryOut: (order: Order, body: unknown) => Promise<string>) {
  return async (request: Request, response: Response): Promise<void> => {
    const order = { ...callerOf(request), reason: givenReason(request.body) };
    auditAction(response, operationFacts(name, request.body, order.reason));
    const text = await carryOut(order, request.body);
    auditDone(response);
    sendEnvelope(response, 200, text);
  };
}

/** What is no reason is refused with the other fields. */
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
 * Returns the one target that the fields name; `choices` are those that the operation has, `takesAll` if also `all`.
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
 * Returns the problems as a client may see them. Roles that may read clients see all of them. A proxy sees that a
 * file is wrong and where, and not its content: messages quote wrong values, which no other read shows. Of the files
 * below `clients/` it sees its own alone, as their names are serials.
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
