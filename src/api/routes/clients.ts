// Routes of docs/rest.md, clients. A serial may be spelled in any way; the reader normalizes it.
import { Router } from 'express';
import { clientOf } from '../authenticate.ts';
import { allow } from '../authorize.ts';
import { only } from '../only.ts';
import { queryRole, querySerial } from '../query.ts';
import { read } from '../reads.ts';
import { bodyOf, type WriteAnswer, write } from '../write.ts';
import type { RouteParts } from './route-parts.ts';

/** Returns the routes below `/clients`. */
export function clientRoutes({ reader, writer }: RouteParts): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/clients')
    .all(only('GET', 'POST', 'DELETE'))
    .get(
      read({ reader }, (request) => ({
        body: { result: reader.as(clientOf(request)).clients(clientOf(request), queryRole(request)) },
      })),
    )
    .post(
      allow('write clients'),
      write((request, order) => writer.putClient(order, bodyOf(request))),
    )
    .delete(
      allow('write clients'),
      write(
        (request, order) => writer.deleteClient(order, querySerial(request)),
        (request) => markedForDelete(querySerial(request)),
      ),
    );
  router
    .route('/clients/:serial')
    .all(only('GET', 'DELETE'))
    .get(read({ reader }, (request) => reader.as(clientOf(request)).client(clientOf(request), request.params.serial)))
    .delete(
      allow('write clients'),
      write<{ serial: string }>(
        ({ params }, order) => writer.deleteClient(order, params.serial),
        ({ params }) => markedForDelete(params.serial),
      ),
    );
  return router;
}

function markedForDelete(serial: string): WriteAnswer {
  return { status: 202, message: `Client ${serial} is marked for delete` };
}
