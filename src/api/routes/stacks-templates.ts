// Routes of docs/rest.md, stack templates. A POST here makes an instance: templates themselves are written as types.
import { Router } from 'express';
import { clientOf } from '../authenticate.ts';
import { allow } from '../authorize.ts';
import { only, onlyWithAdvice } from '../only.ts';
import { read } from '../reads.ts';
import { bodyOf, readForce, write } from '../write.ts';
import type { RouteParts } from './route-parts.ts';

const TYPE_WRITES = {
  POST: 'to write a template, POST /types/stack-template/',
  DELETE: 'to remove one, DELETE /types/stack-template/<name>/',
};

/** Returns the routes below `/stacks/templates`. */
export function stackTemplateRoutes({ reader, writer, cache }: RouteParts): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/stacks/templates')
    .all(only('GET', 'POST'))
    .get(read({ reader, cache }, (request) => ({ body: reader.as(clientOf(request)).templates() })))
    .post(
      allow('write stack instances'),
      write((request, order) => writer.createInstance(order, bodyOf(request), readForce(request))),
    );
  router
    .route('/stacks/templates/:id')
    .all(onlyWithAdvice(['GET'], TYPE_WRITES))
    .get(read({ reader, cache }, (request) => reader.as(clientOf(request)).template(request.params.id)));
  return router;
}
