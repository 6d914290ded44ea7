// The steps of every request before Express finds its route. They count the request, limit its client, refuse invalid
// URLs and cross-site requests of browsers, and let reads wait for the commit that they name. See docs/rest.md,
// requests and answers.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { rateLimit } from 'express-rate-limit';
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import { isCommitId } from '../model/names.ts';
import { ServiceError } from '../model/service-error.ts';
import type { CommitWait } from '../service/read/commit-wait.ts';
import { routeOf } from './answer-cache.ts';
import { clientOf, findClient, type RequestStep } from './authenticate.ts';
import { fingerprintOf } from './peer.ts';

const URL_BYTES_MAX = 2 * 1024;

/** Answers a request with the error of a step or a route. */
type Failed = (error: unknown, request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** Returns the listener that runs these steps in order, then `last`. */
export function passSteps(steps: readonly RequestStep[], last: RequestListener, failed: Failed): RequestListener {
  function passFrom(index: number, request: IncomingMessage, response: ServerResponse): void {
    const step = steps[index];
    if (step === undefined) {
      last(request, response);
      return;
    }
    const next = (error?: unknown): void => {
      if (error === undefined) passFrom(index + 1, request, response);
      else failed(error, request, response, next);
    };
    try {
      step(request, response, next)?.catch(next);
    } catch (error) {
      next(error);
    }
  }
  return (request, response) => passFrom(0, request, response);
}

/**
 * Returns the step that counts each request when its answer has ended, by the pattern of its route, since names must
 * not become labels. A request without a route is counted as "unknown".
 */
export function countRequests(metrics: Metrics | undefined, clock: Clock): RequestStep {
  return (request, response, next) => {
    const begin = clock.monotonic();
    response.on('close', () => {
      // The client disconnected before an answer.
      if (!response.headersSent) return;
      const route = String(routeOf(request) ?? 'unknown');
      const role = findClient(request)?.role ?? 'none';
      const code = String(response.statusCode);
      metrics?.count('treeline_http_requests_total', { route, role, code });
      metrics?.observe('treeline_http_request_duration_seconds', { route }, (clock.monotonic() - begin) / 1000);
    });
    next();
  };
}

/** Returns the step that refuses a client's requests beyond this rate. */
export function limitRate(requestsPerSecond: number): RequestStep {
  const message = `Too many requests: this client has sent more than ${requestsPerSecond} within a second`;
  const limit = rateLimit({
    windowMs: 1_000,
    limit: requestsPerSecond,
    // Not the serial: two authorities may issue the same serial to different clients.
    keyGenerator: fingerprintOf,
    handler: (_request, _response, next) => next(new ServiceError('too_many_requests', message)),
    legacyHeaders: false,
    validate: false,
  });
  // It needs no property that Express adds.
  return limit as unknown as RequestStep;
}

/** Refuses a URL that is too long. Node returns one character for each byte. */
export function checkUrl({ url = '' }: IncomingMessage, _: unknown, next: () => void): void {
  if (url.length > URL_BYTES_MAX) {
    const message = `The URL is ${url.length} bytes long; at most ${URL_BYTES_MAX} are read`;
    throw new ServiceError('uri_too_long', message);
  }
  next();
}

/** Returns the path of a request, without its query. The URL may be absolute (RFC 9112, 3.2.2). */
export function urlPathOf({ url = '/' }: Pick<IncomingMessage, 'url'>): string {
  return url.replace(/^[a-z]+:\/\/[^/?]*/i, '').replace(/\?.*$/s, '');
}

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses writes from pages of another origin. Their reads are harmless, since without CORS headers they cannot see the
 * answer. A browser sends its client certificate for any page, so the certificate does not prove which page sent the
 * request.
 */
export function refuseForeignOrigin({ method = '', headers }: IncomingMessage, _: unknown, next: () => void): void {
  const { origin, host } = headers;
  if (!READING.has(method)) {
    const isForeign = origin !== undefined && !isOwn(origin, host);
    if (isForeign) throw foreignOrigin(`a page of ${origin}`);
    if (headers['sec-fetch-site'] === 'cross-site') throw foreignOrigin('a page of another site');
  }
  next();
}

function foreignOrigin(from: string): ServiceError {
  return new ServiceError('foreign_origin', `This request comes from ${from}, which may not write here`);
}

/** `host` is the name to which the client connected. TLS has refused names that are not in the server's certificate. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && origin.toLowerCase() === `https://${host}`.toLowerCase().replace(/:443$/, '');
}

const HEADER = 'x-treeline-min-commit';

/**
 * Returns the step that delays a read until the commit that it names is followed. Afterwards the client is
 * authenticated again, because that commit may have removed it.
 */
export function waitForMinCommit(commits: Pick<CommitWait, 'reached'>, authenticate: RequestStep): RequestStep {
  return async (request, response, next) => {
    const commit = minCommitOf(request);
    if (commit === undefined) {
      next();
      return;
    }
    await commits.reached(commit, clientOf(request).serial);
    await authenticate(request, response, next);
  };
}

/**
 * Returns the commit that a read names; undefined if it names none. Throws ServiceError if it is not a full id.
 */
export function minCommitOf({ method, headers }: IncomingMessage): string | undefined {
  const text = headers[HEADER];
  if (text === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined;
  if (typeof text === 'string' && isCommitId(text)) return text;
  const message = `X-Treeline-Min-Commit has to be the full id of one commit, 40 hexadecimal digits, not "${text}"`;
  throw new ServiceError('invalid_input', message);
}
