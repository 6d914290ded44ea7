// Routes of docs/rest.md, tree.
import { Router } from 'express';
import type { Reader } from '../../service/reader.ts';
import type { Writer } from '../../service/writer.ts';
import { allow } from '../authorize.ts';
import { only } from '../only.ts';
import { read } from '../present.ts';
import { bodyOf, write } from '../write.ts';

/** Returns the route `/tree`. */
export function treeRoutes(reader: Reader, writer: Writer): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/tree')
    .all(only('GET', 'POST'))
    .get(read(reader, () => reader.tree()))
    .post(
      allow('write the tree'),
      write(
        (request, order) => writer.putTree(order, bodyOf(request)),
        () => ({ status: 201, message: 'Created' }),
      ),
    );
  return router;
}
