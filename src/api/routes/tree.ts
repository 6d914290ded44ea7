// Routes of docs/rest.md, tree.
import { Router } from 'express';
import type { Reader } from '../../service/read/reader.ts';
import type { Writer } from '../../service/write/writer.ts';
import { clientOf } from '../authenticate.ts';
import { allow } from '../authorize.ts';
import { only } from '../only.ts';
import { type KeptAnswers, read } from '../reads.ts';
import { bodyOf, write } from '../write.ts';

interface TreeRoutes {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly kept: KeptAnswers;
}

/** Returns the route `/tree`. */
export function treeRoutes({ reader, writer, kept }: TreeRoutes): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/tree')
    .all(only('GET', 'POST'))
    .get(read({ reader, kept }, (request) => reader.as(clientOf(request)).tree()))
    .post(
      allow('write the tree'),
      write(
        (request, order) => writer.putTree(order, bodyOf(request)),
        () => ({ status: 201, message: 'Created' }),
      ),
    );
  return router;
}
