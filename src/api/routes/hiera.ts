// Routes of docs/rest.md, hiera. Clients take a 404 here for "ask the next level", so it means an unknown node or key
// and nothing else.

import { Router } from 'express';
import type { Reader } from '../../service/reader.ts';
import { only } from '../only.ts';
import { read } from '../present.ts';
import { queryFlag } from '../query.ts';

/** Returns the routes below `/hiera`. */
export function hieraRoutes(reader: Reader): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/hiera/all')
    .all(only('GET'))
    .get(
      read(reader, (request) => ({
        body: queryFlag(request, 'info') ? reader.explainedRecords() : reader.records(),
      })),
    );
  router
    .route('/hiera/:clientcert')
    .all(only('GET'))
    .get(
      read(reader, (request) => {
        const { clientcert } = request.params;
        return { body: queryFlag(request, 'info') ? reader.explainedRecord(clientcert) : reader.record(clientcert) };
      }),
    );
  router
    .route('/hiera/:clientcert/:key')
    .all(only('GET'))
    .get(
      read(reader, (request) => {
        const { clientcert, key } = request.params;
        const body = queryFlag(request, 'info')
          ? reader.explainedValue(clientcert, key)
          : reader.value(clientcert, key);
        return { body };
      }),
    );
  return router;
}
