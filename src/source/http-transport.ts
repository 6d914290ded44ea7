// Git's smart protocol over HTTP and HTTPS. Speaks to one origin only: a redirect to another is refused, and credentials
// go nowhere else.
import type { RepositoryAccess } from '../settings.ts';
import { connectionFailure } from './connection-failure.ts';
import { checkEncryption, readHttpSecrets } from './http-access.ts';
import { checkAnswer } from './http-answer.ts';
import { exchange, type HttpAnswer } from './http-exchange.ts';
import type { Transport, TransportRequest } from './remote.ts';
import { SourceError } from './source.ts';

export interface HttpTransportOptions {
  /** As {@link parseRepositoryUrl} returns it: without user, query and slash at the end. */
  readonly url: string;
  readonly access: RepositoryAccess;
  /** The largest answer that is taken, in bytes. */
  readonly answerBytesMax: number;
  /** How long the server may send nothing at all, in milliseconds. */
  readonly silenceMs: number;
}

/** Hosts tell Git from browsers by its first word. */
const USER_AGENT = 'git/treeline';
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const REDIRECTS_MAX = 3;
const TEXT_MAX = 200;

/** Returns the transport. Nothing is asked before the first request. Throws SourceError like {@link checkEncryption}. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  const { url, access } = options;
  checkEncryption(url, access.username !== null || access.password !== null);
  /** Where the requests of one conversation go: the first, a GET, may be redirected within the origin. */
  let base = url;

  async function ask({ method, headers, body, signal, sending }: TransportRequest, target: URL): Promise<HttpAnswer> {
    const { authorization, ca } = await readHttpSecrets(access);
    const own = { 'user-agent': USER_AGENT, 'accept-encoding': 'identity' };
    const secret = authorization === undefined ? {} : { authorization };
    const sent = { ...headers, ...own, ...secret };
    const order = { ...options, target, method, headers: sent, body, ca, signal, sending };
    try {
      return await exchange(order);
    } catch (error) {
      signal.throwIfAborted();
      throw connectionFailure(error, { name: url, caFile: access.caFile });
    }
  }

  return {
    url,
    name: url,
    async request(request) {
      const path = request.url.slice(url.length);
      if (request.method === 'GET') base = url;
      for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
        const answer = await ask(request, new URL(`${base}${path}`));
        if (!REDIRECTS.has(answer.status)) {
          const contentType = contentTypeOf(path);
          checkAnswer(answer, { name: url, access, contentType });
          const { status: statusCode, statusMessage, body } = answer;
          return { statusCode, statusMessage, headers: { 'content-type': contentType }, body };
        }
        if (request.method !== 'GET')
          throw new SourceError(`"${url}" redirects in the middle of a fetch: check repository.url`);
        base = redirected(answer, { url, base, path });
      }
      throw new SourceError(`"${url}" redirects more than ${REDIRECTS_MAX} times: check repository.url`);
    },
  };
}

/** Returns where the repository is instead. Throws SourceError where that is another origin, or no repository. */
function redirected(
  { headers: { location = '' } }: HttpAnswer,
  { url, base, path }: { readonly url: string; readonly base: string; readonly path: string },
): string {
  const from = new URL(base);
  const to = URL.parse(location, `${base}${path}`);
  const address = to === null ? location : `${to.origin}${to.pathname}${to.search}`;
  const isRepository = to !== null && address.endsWith(path);
  const moved = isRepository ? address.slice(0, -path.length) : address;
  const shown = moved.slice(0, TEXT_MAX);
  if (to?.origin !== from.origin) {
    throw new SourceError(
      `"${url}" redirects to "${shown}", and no other host is followed there: if that is the right place, write it as repository.url`,
    );
  }
  if (!isRepository) {
    throw new SourceError(
      `"${url}" redirects to "${shown}", which is no repository, but perhaps a page to sign in on: check repository.url and the password`,
    );
  }
  return moved;
}

/** See gitprotocol-http, "Smart Server Response". */
function contentTypeOf(path: string): string {
  const service = /^\/info\/refs\?service=([\w-]+)$/.exec(path)?.[1];
  return service === undefined ? `application/x-${path.slice(1)}-result` : `application/x-${service}-advertisement`;
}
