// Routes of docs/rest.md for the objects of the repository: stack instances and templates, clients, types, the tree.
import type { NextFunction, Response } from 'express';
import openApi from '../../../schemas/openapi.json' with { type: 'json' };
import { didYouMean } from '../../base/wording.ts';
import { isTypeName, TYPE_NAMES } from '../../model/names.ts';
import { ServiceError } from '../../model/service-error.ts';
import { PAGE, pageWords } from '../../page/serve-page.ts';
import { writeAnswer, writeLong } from '../answer.ts';
import { clientOf } from '../authenticate.ts';
import { allow, requireRight } from '../authorize.ts';
import { readLag } from '../forward.ts';
import { queryFlag, queryRange, queryRole, querySerial } from '../query.ts';
import { breathe, readsFrom } from '../reads.ts';
import { bodyOf, readForce, type WriteAnswer, write } from '../write.ts';
import type { RouteParts, RouteRequest, RouteTable } from './route-table.ts';

const TYPE_WRITES = {
  POST: 'to write a template, POST /types/stack-template/',
  DELETE: 'to remove one, DELETE /types/stack-template/<name>/',
};
const WRITTEN_ABOVE = 'to write an object, POST /types/<type>/ with its name in the body';

/**
 * Returns the routes `/` and the description of the interface. `dashboard`: the address of the page without a
 * certificate; null if it is off.
 */
export function startRoutes(parts: RouteParts, dashboard: string | null): RouteTable {
  const { cached } = readsFrom(parts);
  const start = { message: pageWords(dashboard), return_code: 200, page: PAGE, dashboard, document: '/openapi.json' };
  return {
    '/': { GET: cached(() => ({ body: start })) },
    '/openapi.json': { GET: cached(() => ({ body: openApi })) },
  };
}

/** Returns the routes below `/stacks`. A POST to a template creates an instance; templates are written as types. */
export function stackRoutes(parts: RouteParts): RouteTable {
  const { reader, writer, operator } = parts;
  const { live, cached, list, cachedList } = readsFrom(parts);
  const mayWrite = allow('write stack instances');
  return {
    '/stacks/instances': {
      GET: cachedList((_request, client) => writeLong(reader.as(client).instances(), breathe)),
      advice: { POST: 'to make an instance, POST /stacks/instances/<instance>/' },
    },
    '/stacks/instances/:id': {
      GET: cached(({ params }, client) => reader.as(client).instance(params.id)),
      POST: [
        mayWrite,
        ...write((request, order) => writer.putInstance(order, request.params.id, bodyOf(request), readForce(request))),
      ],
      // Deleting is only a mark: the reconciler removes the servers first, then forgets the instance.
      DELETE: [
        mayWrite,
        ...write(
          ({ params }, order) => writer.deleteInstance(order, params.id),
          ({ params }) => marked(`Stack instance ${params.id}`),
        ),
      ],
    },
    // Not cached, because suspensions end with time.
    '/stacks/instances/:id/status': {
      GET: live(({ params }, client) => ({ body: reader.as(client).status(params.id) })),
    },
    '/stacks/instances/:id/status/full': {
      GET: cached(({ params }, client) => ({ body: reader.as(client).statusFull(params.id) })),
    },
    '/stacks/instances/:id/why': {
      GET: live((request, client) => ({ body: operator.why(client, request.params.id, readLag(request)) })),
    },
    '/stacks/instances/:id/events': {
      GET: list(async (request, client) =>
        writeAnswer(await operator.events(client, request.params.id, queryRange(request))),
      ),
    },
    '/stacks/templates': {
      GET: cached((_request, client) => ({ body: reader.as(client).templates() })),
      POST: [mayWrite, ...write((request, order) => writer.createInstance(order, bodyOf(request), readForce(request)))],
    },
    '/stacks/templates/:id': {
      GET: cached(({ params }, client) => reader.as(client).template(params.id)),
      advice: TYPE_WRITES,
    },
  };
}

/** Returns the routes `/clients` and `/tree`. The reader accepts every spelling of a serial. */
export function clientRoutes(parts: RouteParts): RouteTable {
  const { reader, writer } = parts;
  const { live, cached } = readsFrom(parts);
  const mayWrite = allow('write clients');
  return {
    '/clients': {
      GET: live((request, client) => ({ body: { result: reader.as(client).clients(queryRole(request)) } })),
      POST: [mayWrite, ...write((request, order) => writer.putClient(order, bodyOf(request)))],
      DELETE: [
        mayWrite,
        ...write(
          (request, order) => writer.deleteClient(order, querySerial(request)),
          (request) => marked(`Client ${querySerial(request)}`),
        ),
      ],
    },
    '/clients/:serial': {
      GET: live(({ params }, client) => reader.as(client).client(params.serial)),
      DELETE: [
        mayWrite,
        ...write(
          ({ params }, order) => writer.deleteClient(order, params.serial),
          ({ params }) => marked(`Client ${params.serial}`),
        ),
      ],
    },
    '/tree': {
      GET: cached((_request, client) => reader.as(client).tree()),
      POST: [allow('write the tree'), ...write((request, order) => writer.putTree(order, bodyOf(request)))],
    },
  };
}

/** Returns the routes below `/types`. `all` is a read-only view of the other types. */
export function typeRoutes(parts: RouteParts): RouteTable {
  const { reader, writer } = parts;
  const { cached, cachedList } = readsFrom(parts);
  return {
    '/types': { GET: cached(() => ({ body: { types: reader.types() } })) },
    '/types/all{/:id}': { later: ['GET'] },
    '/types/:type': {
      GET: cachedList(({ params }, client) => writeLong({ result: reader.as(client).objects(params.type) }, breathe)),
      POST: [
        allowToWriteType,
        ...write((request, order) =>
          writer.putObject(order, request.params.type, bodyOf(request), mayReplace(request)),
        ),
      ],
    },
    '/types/:type/:id': {
      GET: cached(({ params }, client) => reader.as(client).object(params.type, params.id)),
      DELETE: [
        allowToWriteType,
        ...write(
          ({ params }, order) => writer.deleteObject(order, params.type, params.id),
          ({ params }) => removed(params),
        ),
      ],
      advice: { POST: WRITTEN_ABOVE, PUT: WRITTEN_ABOVE, PATCH: WRITTEN_ABOVE },
    },
  };
}

function marked(object: string): WriteAnswer {
  return { status: 202, message: `${object} is marked for delete` };
}

function removed({ type, id }: RouteRequest['params']): WriteAnswer {
  if (type === 'stack-instance') return marked(`Stack instance ${id}`);
  return { status: 200, message: `Document ${id} of type ${type} was removed` };
}

/** Objects of the other types may have any field, including `force`, and need no `force` to be replaced. */
function mayReplace(request: RouteRequest): boolean {
  return request.params.type === 'stack-instance' ? readForce(request) : queryFlag(request, 'force');
}

/** A stack instance needs the same right here as under `/stacks/instances`. */
function allowToWriteType(request: RouteRequest, _response: Response, next: NextFunction): void {
  const { type } = request.params;
  if (!isTypeName(type)) {
    const advice = didYouMean(type, TYPE_NAMES) ?? 'GET /types lists all';
    throw new ServiceError('not_found', `There is no type "${type}"; ${advice}`);
  }
  requireRight(clientOf(request), type === 'stack-instance' ? 'write stack instances' : 'write types');
  next();
}
