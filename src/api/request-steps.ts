// The steps that every request passes before Express finds its route: counts it, limits its client, refuses what is
// wrong on every route and cross-site requests of browsers, and has reads wait for the commit that they name. See
// docs/rest.md, requests and answers.
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

/** Answers a request with what a step or a route threw. */
type Failed = (error: unknown, request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** Returns the listener whose requests pass these steps one after the other, and are answered by `last` after them. */
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
 * Returns the step that counts each request once its answer has ended, by the pattern of its route: names never become
 * labels. A request that is answered by no route is counted as "unknown".
 */
export function countRequests(metrics: Metrics | undefined, clock: Clock): RequestStep {
  return (request, response, next) => {
    const begin = clock.monotonic();
    response.on('close', () => {
      // Nothing was answered: the client has gone.
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

/** Returns the step that refuses a client's requests beyond so many in a second. */
export function limitRate(requestsPerSecond: number): RequestStep {
  const message = `Too many requests: this client has sent more than ${requestsPerSecond} within a second`;
  const limit = rateLimit({
    windowMs: 1_000,
    limit: requestsPerSecond,
    // Two authorities may give the same serial to different clients.
    keyGenerator: fingerprintOf,
    handler: (_request, _response, next) => next(new ServiceError('too_many_requests', message)),
    legacyHeaders: false,
    validate: false,
  });
  // It uses nothing of Express, except what the key generator is given.
  return limit as unknown as RequestStep;
}

/** Refuses a URL that is too long. Node returns it as one character a byte. */
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
 * Passes on what reads, and what no page of another origin sends. Pages cannot read answers: there are no CORS headers.
 * A browser sends its client certificate for any page, so the certificate does not prove which page sent the request.
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
  return new ServiceError('foreign_origin', `This comes from ${from}, and other pages may not write here`);
}

/** `host` is what the client connected to; a name that is not in the server's certificate does not get this far. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && origin.toLowerCase() === `https://${host}`.toLowerCase().replace(/:443$/, '');
}

const HEADER = 'x-treeline-min-commit';

/**
 * Returns the step that lets a read pass once the commit that it names is followed. Who waited is authenticated again
 * by
 * `authenticate`: that very commit may have removed the client.
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
 * Returns the commit that a read names, undefined where it names none. Throws ServiceError where that is no full id.
 */
export function minCommitOf({ method, headers }: IncomingMessage): string | undefined {
  const text = headers[HEADER];
  if (text === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined;
  if (typeof text === 'string' && isCommitId(text)) return text;
  const message = `X-Treeline-Min-Commit has to be the full id of one commit, 40 hexadecimal digits, not "${text}"`;
  throw new ServiceError('invalid_input', message);
}
