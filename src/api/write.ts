// Handles all writes: it reads the client and the conditions, and answers with the outcome.
import type { RequestHandler, Response } from 'express';
import { isMap, type JsonMap } from '../model/json.ts';
import { ServiceError } from '../model/service-error.ts';
import type { WriteOrder, WriteResult } from '../service/write/draft.ts';
import { auditAction, auditDone } from './audit-requests.ts';
import { callerOf, findRefusal } from './authenticate.ts';
import { jsonBody } from './json-body.ts';
import { COMMIT, requestIdOf, sendEnvelope, sendJson } from './present.ts';
import { queryFlag, queryText } from './query.ts';
import type { PathParams, RouteRequest } from './routes/route-table.ts';

/** The answer to a write on the followed branch. */
export interface WriteAnswer {
  readonly status: 200 | 201 | 202;
  readonly message: string;
}

/** Returns the handlers of a write. An error of `carryOut` becomes the answer. */
export function write(
  carryOut: (request: RouteRequest, order: WriteOrder) => Promise<WriteResult>,
  answer: (request: RouteRequest) => WriteAnswer = () => ({ status: 201, message: 'Created' }),
): RequestHandler<PathParams>[] {
  return [
    jsonBody(),
    async (request: RouteRequest, response: Response) => {
      const order = {
        ...callerOf(request),
        requestId: requestIdOf(response),
        ifMatch: blobsIn(request.headers['if-match']),
        ifNoneMatch: blobsIn(request.headers['if-none-match']),
        isDryRun: queryFlag(request, 'dry_run'),
        submits: (object: string) => auditAction(response, { object }),
      };
      if (!order.isDryRun) auditAction(response, { kind: 'write' });
      const { commit, branch, preview } = await carryOut(request, order);
      auditDone(response, { commit, branch });
      // The client passes this commit to its next read, which may reach a replica that is behind.
      const isShown = branch === null && findRefusal(request) === undefined;
      if (commit !== null && isShown) response.setHeader(COMMIT, commit);
      const { status, message } = answer(request);
      if (preview !== undefined) {
        const envelope = { message: 'Dry run: nothing was written', return_code: 200, dry_run: true };
        sendJson(response, 200, { ...envelope, diff: preview.diff, servers: preview.servers });
      } else if (branch === null) sendEnvelope(response, status, message);
      else sendEnvelope(response, 202, `Proposed on the branch ${branch}; it takes effect when the branch is merged`);
    },
  ];
}

/** Returns the body of a write. Throws `invalid_input` if it is not a JSON object. */
export function bodyOf(request: { readonly body: unknown }): JsonMap {
  if (isMap(request.body)) return request.body;
  throw new ServiceError('invalid_input', 'The body has to be a JSON object');
}

/**
 * Returns whether an existing object may be replaced: the query parameter or the body's field. Throws `invalid_input`
 * if they disagree.
 */
export function readForce(request: Parameters<typeof queryFlag>[0] & { readonly body: unknown }): boolean {
  const field = isMap(request.body) && Object.hasOwn(request.body, 'force') ? request.body.force : false;
  if (field !== true && field !== false) {
    const message = 'is true or false';
    throw new ServiceError('invalid_input', `"force" ${message}`, [{ pointer: '/force', message }]);
  }
  const isInQuery = queryText(request, 'force') !== undefined;
  const flag = queryFlag(request, 'force');
  if (isInQuery && isMap(request.body) && Object.hasOwn(request.body, 'force') && flag !== field) {
    const message = `is ${field} in the body and ${flag} in the query: give one of them`;
    throw new ServiceError('invalid_input', `"force" ${message}`, [{ pointer: '/force', message }]);
  }
  return flag || field;
}

/**
 * Returns the blobs of a condition: only the first part of each ETag, so that a rollout does not invalidate an edit.
 */
function blobsIn(header: string | undefined): readonly string[] | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return ['*'];
  // A quoted `*` is an ordinary tag, and no file has it.
  return (header.match(/"[^"*]*"/g) ?? []).map((tag) => tag.slice(1, -1).split('.')[0] ?? '');
}
