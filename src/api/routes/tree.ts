// Routes of docs/rest.md, tree.
import { Router } from 'express';
import { clientOf } from '../authenticate.ts';
import { allow } from '../authorize.ts';
import { only } from '../only.ts';
import { read } from '../reads.ts';
import { bodyOf, write } from '../write.ts';
import type { RouteParts } from './route-parts.ts';

/** Returns the route `/tree`. */
export function treeRoutes({ reader, writer, cache }: RouteParts): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/tree')
    .all(only('GET', 'POST'))
    .get(read({ reader, cache }, (request) => reader.as(clientOf(request)).tree()))
    .post(
      allow('write the tree'),
      write((request, order) => writer.putTree(order, bodyOf(request))),
    );
  return router;
}
