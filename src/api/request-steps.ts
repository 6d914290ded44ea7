// The steps that every request passes before its route: refuses what is wrong on every route, and cross-site requests of browsers, and has
// reads wait for the commit that they name. See docs/rest.md, requests and answers.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isCommitId } from '../model/names.ts';
import { ServiceError } from '../model/service-error.ts';
import { type Deliveries, maySpeakForNodes } from '../service/deliveries/deliveries.ts';
import type { CommitWait } from '../service/read/commit-wait.ts';
import { clientOf, type RequestStep } from './authenticate.ts';
import { type answerErrors, type Failure, sendError } from './errors.ts';
import { isForwarded } from './peer.ts';
import { digestOfTag, sentTagOf } from './present.ts';

const URL_BYTES_MAX = 2 * 1024;

/** Returns the step of these steps, one after the other. `fail` answers what one of them throws. */
export function passSteps(steps: readonly RequestStep[], fail: ReturnType<typeof answerErrors>) {
  return (request: IncomingMessage, response: ServerResponse, last: () => void): void => {
    let index = -1;
    const failed = (error: unknown): void => fail(error, request, response, next);
    const next = (): void => {
      index += 1;
      try {
        const step = steps[index];
        if (step === undefined) last();
        else step(request, response, next)?.catch(failed);
      } catch (error) {
        failed(error);
      }
    };
    next();
  };
}

/** Passes a request on, or answers what is wrong with it as HTTP. */
export function checkRequest(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const failure = malformation(request);
  if (failure === undefined) {
    next();
    return;
  }
  // The end of the body is ambiguous with each of these.
  response.setHeader('Connection', 'close');
  sendError(response, failure);
}

/** Returns what is wrong with a request as HTTP; undefined if nothing is. */
function malformation(request: IncomingMessage): Failure | undefined {
  const { headers, httpVersion, rawHeaders, url = '' } = request;
  if (headers.host === undefined && httpVersion === '1.1') {
    return { code: 'invalid_input', message: 'An HTTP/1.1 request needs a Host header' };
  }
  // Node keeps the first one, and something in front of it perhaps another. RFC 9112, 3.2.
  if (hostsIn(rawHeaders) > 1) {
    return { code: 'invalid_input', message: 'A request has one Host header, and this one has several' };
  }
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') {
    return {
      code: 'invalid_input',
      message: `The transfer encoding "${encoding}" is not known here, only "chunked" is`,
    };
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    const message = `Nothing but "100-continue" can be expected here, not "${headers.expect}"`;
    return { code: 'expectation_failed', message };
  }
  // Node hands a URL over as one character a byte.
  if (url.length > URL_BYTES_MAX) {
    return { code: 'uri_too_long', message: `The URL is ${url.length} bytes long; at most ${URL_BYTES_MAX} are read` };
  }
  if (!isDecodable(urlPathOf(request))) {
    const message = `"${urlPathOf(request)}" holds a "%" that begins no encoded character: a "%" itself is written %25`;
    return { code: 'invalid_input', message };
  }
  return undefined;
}

function hostsIn(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts;
}

/** Returns the path of a request, without its query. */
export function urlPathOf({ url = '/' }: Pick<IncomingMessage, 'url'>): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

function isDecodable(path: string): boolean {
  if (!path.includes('%')) return true;
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** The header in which a replica tells the leader which record a node has fetched there. No client sends it: it counts between replicas alone. */
export const FETCHED = 'x-treeline-fetched';
const RECORD = /^\/hiera\/(?!all\/?(?:\?|$))([^/?]+)\/?(?:$|\?(?!.*\binfo\b))/;

/**
 * Returns the step that notes which records clients of nodes fetch, once they are sent. `tell` is called where the leader is to be told; left
 * out: this process leads.
 */
export function noteFetches(
  deliveries: Pick<Deliveries, 'noteFetch'>,
  tell?: (request: IncomingMessage, response: ServerResponse, fetched: { node: string; digest: string }) => void,
): RequestStep {
  return (request, response, next) => {
    const client = clientOf(request);
    const name = maySpeakForNodes(client) ? RECORD.exec(request.url ?? '')?.[1] : undefined;
    if (name !== undefined) {
      const node = decodeURIComponent(name);
      const note = (tag: unknown): void => {
        const digest = digestOfTag(String(tag));
        if (digest !== undefined && deliveries.noteFetch(client, node, digest))
          tell?.(request, response, { node, digest });
      };
      if (isForwarded(request)) note(request.headers[FETCHED]);
      else if (request.method === 'GET') response.once('finish', () => note(sentTagOf(response)));
    }
    next();
  };
}

const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Passes on what reads, and what no page of another origin sends. Pages cannot read answers: there are no CORS headers.
 * A browser sends its client certificate for any page, so the certificate does not prove which page sent the request.
 */
export function refuseForeignOrigin(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const failure = READING.has(request.method ?? '') ? undefined : refuseForeign(request);
  if (failure === undefined) next();
  else sendError(response, failure);
}

function refuseForeign({ headers }: IncomingMessage): Failure | undefined {
  const { origin, host } = headers;
  if (origin !== undefined && !isOwn(origin, host)) {
    return {
      code: 'foreign_origin',
      message: `This comes from a page of ${origin}, and other pages may not write here`,
    };
  }
  if (headers['sec-fetch-site'] === 'cross-site') {
    return {
      code: 'foreign_origin',
      message: 'This comes from a page of another site, and other pages may not write here',
    };
  }
  return undefined;
}

/** `host` is what the client connected to; a name that is not in the server's certificate does not get this far. */
function isOwn(origin: string, host: string | undefined): boolean {
  return host !== undefined && origin.toLowerCase() === `https://${host}`.toLowerCase().replace(/:443$/, '');
}

const HEADER = 'x-treeline-min-commit';

/**
 * Returns the step that lets a read pass once the commit that it names is followed. Who waited is authenticated again by
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

/** Returns the commit that a read names, undefined where it names none. Throws ServiceError where that is no full id. */
export function minCommitOf({ method, headers }: IncomingMessage): string | undefined {
  const text = headers[HEADER];
  if (text === undefined || (method !== 'GET' && method !== 'HEAD')) return undefined;
  if (typeof text === 'string' && isCommitId(text)) return text;
  const message = `X-Treeline-Min-Commit has to be the full id of one commit, 40 hexadecimal digits, not "${text}"`;
  throw new ServiceError('invalid_input', message);
}
