// Routes of docs/rest.md, hiera. Clients take a 404 here for "ask the next level", so it means an unknown node or key
// and nothing else.
import { Router } from 'express';
import type { Reader } from '../../service/reader.ts';
import type { Shares } from '../../shares.ts';
import { answerAllRecords } from '../all-records.ts';
import { only } from '../only.ts';
import { fingerprintOf } from '../peer.ts';
import { readsOn } from '../present.ts';
import { queryFlag } from '../query.ts';

/** Returns the routes below `/hiera`. */
export function hieraRoutes(reader: Reader, shares: Shares): Router {
  const router = Router({ caseSensitive: true });
  const addRead = readsOn(router, reader);
  const all = answerAllRecords(reader, shares);
  router
    .route('/hiera/all')
    .all(only('GET'))
    .get((request, response) => {
      return all(request, response, { client: fingerprintOf(request), isExplained: queryFlag(request, 'info') });
    });
  addRead<{ clientcert: string }>('/hiera/:clientcert', (request) => {
    const { clientcert } = request.params;
    return { body: queryFlag(request, 'info') ? reader.explainedRecord(clientcert) : reader.record(clientcert) };
  });
  addRead<{ clientcert: string; key: string }>('/hiera/:clientcert/:key', (request) => {
    const { clientcert, key } = request.params;
    const body = queryFlag(request, 'info') ? reader.explainedValue(clientcert, key) : reader.value(clientcert, key);
    return { body };
  });
  return router;
}
