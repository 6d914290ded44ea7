// Routes of docs/rest.md, stack templates. A POST here makes an instance: templates themselves are written as types.
import { type NextFunction, type Request, type Response, Router } from 'express';
import { ServiceError } from '../../model/service-error.ts';
import type { Reader } from '../../service/reader.ts';
import type { Writer } from '../../service/writer.ts';
import { allow } from '../authorize.ts';
import { only } from '../only.ts';
import { read } from '../present.ts';
import { bodyOf, forceOf, write } from '../write.ts';

/** Returns the routes below `/stacks/templates`. */
export function stackTemplateRoutes(reader: Reader, writer: Writer): Router {
  const router = Router({ caseSensitive: true });
  router
    .route('/stacks/templates')
    .all(only('GET', 'POST'))
    .get(read(reader, () => ({ body: reader.templates() })))
    .post(
      allow('write stack instances'),
      write(
        (request, order) => writer.createInstance(order, bodyOf(request), forceOf(request)),
        () => ({ status: 201, message: 'Created' }),
      ),
    );
  router
    .route('/stacks/templates/:id')
    .all(advise, only('GET'))
    .get(read(reader, ({ params }) => reader.template(params.id)));
  return router;
}

/** A write here is for the type: a POST one level above makes an instance. */
function advise({ method, path }: Request, response: Response, next: NextFunction): void {
  if (method !== 'POST' && method !== 'DELETE') {
    next();
    return;
  }
  response.setHeader('Allow', 'GET, HEAD');
  const right =
    method === 'POST'
      ? 'to write a template, POST /types/stack-template/'
      : 'to remove one, DELETE /types/stack-template/<name>/';
  throw new ServiceError('method_not_allowed', `${method} is not possible on ${path}, only GET, HEAD; ${right}`);
}
