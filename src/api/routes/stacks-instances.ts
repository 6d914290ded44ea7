// Routes of docs/rest.md, stack instances.
import { Router } from 'express';
import { writeAnswer, writeLong } from '../answer.ts';
import { clientOf } from '../authenticate.ts';
import { allow } from '../authorize.ts';
import { readLag } from '../forward.ts';
import { only, onlyWithAdvice } from '../only.ts';
import { queryRange } from '../query.ts';
import { breathe, read, readList, readsOn } from '../reads.ts';
import { bodyOf, readForce, write } from '../write.ts';
import type { RouteParts } from './route-parts.ts';

/** Returns the routes below `/stacks/instances`. */
export function stackInstanceRoutes({ reader, writer, operator, cache, lists }: RouteParts): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/stacks/instances')
    .all(onlyWithAdvice(['GET'], { POST: 'to make an instance, POST /stacks/instances/<instance>/' }))
    .get(readList({ reader, cache, lists }, (request) => writeLong(reader.as(clientOf(request)).instances(), breathe)));
  router
    .route('/stacks/instances/:id')
    .all(only('GET', 'POST', 'DELETE'))
    .get(read({ reader, cache }, (request) => reader.as(clientOf(request)).instance(request.params.id)))
    .post(
      allow('write stack instances'),
      write<{ id: string }>((request, order) =>
        writer.putInstance(order, request.params.id, bodyOf(request), readForce(request)),
      ),
    )
    // Deleting is only a mark: the servers are removed first, then the instance is forgotten.
    .delete(
      allow('write stack instances'),
      write<{ id: string }>(
        ({ params }, order) => writer.deleteInstance(order, params.id),
        ({ params }) => ({ status: 202, message: `Stack instance ${params.id} is marked for delete` }),
      ),
    );
  // Suspensions end with time.
  const addTimedRead = readsOn(router, { reader });
  addTimedRead<{ id: string }>('/stacks/instances/:id/status', (request) => ({
    body: reader.as(clientOf(request)).status(request.params.id),
  }));
  const addRead = readsOn(router, { reader, cache });
  addRead<{ id: string }>('/stacks/instances/:id/status/full', (request) => ({
    body: reader.as(clientOf(request)).statusFull(request.params.id),
  }));
  const addRecordedRead = readsOn(router, { reader });
  addRecordedRead<{ id: string }>('/stacks/instances/:id/why', (request) => ({
    body: operator.why(clientOf(request), request.params.id, readLag(request)),
  }));
  router
    .route('/stacks/instances/:id/events')
    .all(only('GET'))
    .get(
      readList<{ id: string }>({ reader, lists }, async (request) => {
        const range = queryRange(request);
        return writeAnswer(await operator.events(clientOf(request), request.params.id, range));
      }),
    );
  return router;
}
