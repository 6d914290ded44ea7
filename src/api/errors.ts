// Defines every error of a request, and the one table from error code to HTTP status. See docs/rest.md, errors.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../base/log.ts';
import { type ErrorDetail, ServiceError, type ServiceErrorCode } from '../model/service-error.ts';
import { auditRefusal } from './audit-requests.ts';
import { findRefusal, logOverShare } from './authenticate.ts';
import { requestIdOf, writeJson } from './present.ts';

/** The status of each code. */
export const ERROR_STATUSES: Readonly<Record<ServiceErrorCode, number>> = {
  invalid_input: 400,
  unauthorized: 401,
  client_not_registered: 403,
  fingerprint_mismatch: 403,
  certificate_expired: 403,
  foreign_origin: 403,
  not_allowed: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  edit_by_hand: 409,
  push_refused: 409,
  outcome_unknown: 503,
  precondition_failed: 412,
  body_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  breaks_others: 422,
  too_many_requests: 429,
  internal: 500,
  not_ready: 503,
};

const RETRY_AFTER_SECONDS = 5;
/** Every later request on the same connection would fail in the same way. */
const ENDS_CONNECTION: ReadonlySet<ServiceErrorCode> = new Set(['unauthorized', 'certificate_expired']);

/** The body of an error answer. */
export interface Failure {
  readonly code: ServiceErrorCode;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
}

/** The body of every answer that is an error. `return_code` equals the HTTP status. */
export interface ErrorBody {
  readonly message: string;
  readonly return_code: number;
  readonly error: ServiceErrorCode;
  readonly details?: readonly ErrorDetail[];
}

/** Answers with a failure, and records it in the audit log if required. */
export function sendError(response: ServerResponse, { code, message, details = [] }: Failure): void {
  const status = ERROR_STATUSES[code];
  const isWorthARetry = code === 'not_ready' || code === 'too_many_requests';
  if (isWorthARetry) response.setHeader('Retry-After', RETRY_AFTER_SECONDS);
  if (ENDS_CONNECTION.has(code)) response.setHeader('Connection', 'close');
  auditRefusal(response, code, { status, message });
  const body: ErrorBody = { message, return_code: status, error: code };
  writeJson(response, status, details.length === 0 ? body : { ...body, details });
}

/**
 * Returns the last handler of the application: answers the errors of all others, and logs those that are bugs of
 * Treeline. A client that has lost its rights gets that refusal instead of the error.
 */
export function answerErrors(log: Logger) {
  // Express knows an error handler by its four parameters.
  return (error: unknown, request: IncomingMessage, response: ServerResponse, _next: () => void): void => {
    const failure = explainError(error, requestIdOf(response));
    if (failure.code === 'internal') {
      log.error({ err: error, request: requestIdOf(response), method: request.method, url: request.url }, 'failed');
    }
    if (failure.code === 'too_many_requests') logOverShare(request, failure.message);
    const refusal = findRefusal(request);
    // The answer has begun, so only a broken connection shows the client that it failed.
    if (response.headersSent) response.destroy();
    else sendError(response, refusal === undefined || refusal.code === failure.code ? failure : refusal);
  };
}

function explainError(error: unknown, requestId: string): Failure {
  if (error instanceof ServiceError && error.code !== 'internal') return error;
  // Express cannot decode a part of the path.
  if (error instanceof URIError) {
    return {
      code: 'invalid_input',
      message: 'The path contains a "%" that does not begin an encoded character: write it as %25',
    };
  }
  // The message of the store names the fault and the remedy. The error is identified by name, since this folder does
  // not import the store.
  if (error instanceof Error && error.name === 'StoreError') return { code: 'not_ready', message: error.message };
  const message = `Treeline failed to answer. This is a bug in Treeline; its log has the details under request ${requestId}`;
  return { code: 'internal', message };
}
