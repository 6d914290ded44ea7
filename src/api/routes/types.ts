// Routes of docs/rest.md, types. `all` is a view of the other types: it can be read and not written.
import { type NextFunction, type Request, type Response, Router } from 'express';
import { didYouMean } from '../../base/wording.ts';
import { isTypeName, TYPE_NAMES } from '../../model/names.ts';
import { ServiceError } from '../../model/service-error.ts';
import { writeLong } from '../answer.ts';
import { clientOf } from '../authenticate.ts';
import { requireRight } from '../authorize.ts';
import { only, onlyWithAdvice } from '../only.ts';
import { queryFlag } from '../query.ts';
import { breathe, read, readList, readsOn } from '../reads.ts';
import { bodyOf, readForce, type WriteAnswer, write } from '../write.ts';
import type { RouteParts } from './route-parts.ts';

const WRITTEN_ABOVE = 'to write an object, POST /types/<type>/ with its name in the body';

/** Returns the routes below `/types`. */
export function typeRoutes({ reader, writer, cache, lists }: RouteParts): Router {
  const router = Router({ caseSensitive: true });
  const addRead = readsOn(router, { reader, cache });
  addRead('/types', () => ({ body: { types: reader.types() } }));
  router.all('/types/all{/:id}', only('GET'));
  router
    .route('/types/:type')
    .all(only('GET', 'POST'))
    .get(
      readList<{ type: string }>({ reader, cache, lists }, (request) => {
        return writeLong({ result: reader.as(clientOf(request)).objects(request.params.type) }, breathe);
      }),
    )
    .post(
      allowToWriteType,
      write<{ type: string }>((request, order) =>
        writer.putObject(order, request.params.type, bodyOf(request), mayReplace(request)),
      ),
    );
  router
    .route('/types/:type/:id')
    .all(onlyWithAdvice(['GET', 'DELETE'], { POST: WRITTEN_ABOVE, PUT: WRITTEN_ABOVE, PATCH: WRITTEN_ABOVE }))
    .get(
      read({ reader, cache }, (request) => reader.as(clientOf(request)).object(request.params.type, request.params.id)),
    )
    .delete(
      allowToWriteType,
      write<{ type: string; id: string }>(
        ({ params }, order) => writer.deleteObject(order, params.type, params.id),
        ({ params }) => removed(params),
      ),
    );
  return router;
}

/** Objects of the other types may have any field, `force` among them, and are replaced anyway. */
function mayReplace(request: Request<{ type: string }>): boolean {
  return request.params.type === 'stack-instance' ? readForce(request) : queryFlag(request, 'force');
}

function removed({ type, id }: { readonly type: string; readonly id: string }): WriteAnswer {
  if (type === 'stack-instance') return { status: 202, message: `Stack instance ${id} is marked for delete` };
  return { status: 200, message: `Document ${id} of type ${type} was removed` };
}

/** A stack instance is one thing, here and under `/stacks/instances`: the same roles may write it. */
function allowToWriteType(request: Request<{ type: string }>, _response: Response, next: NextFunction): void {
  const { type } = request.params;
  if (!isTypeName(type)) {
    const advice = didYouMean(type, TYPE_NAMES) ?? 'GET /types lists all';
    throw new ServiceError('not_found', `There is no type "${type}"; ${advice}`);
  }
  requireRight(clientOf(request), type === 'stack-instance' ? 'write stack instances' : 'write types');
  next();
}
