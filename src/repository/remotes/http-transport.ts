// Implements Git's smart protocol over HTTP and HTTPS. Uses one origin only: a redirect to another is refused, and
// credentials are sent nowhere else.
import { buffer } from 'node:stream/consumers';
import type { RepositoryAccess } from '../../model/settings.ts';
import { SourceError } from '../source.ts';
import { checkEncryption, proxyLogins, readHttpSecrets } from './http-access.ts';
import { BEGINNING_BYTES, checkAnswer, connectionFailure } from './http-answer.ts';
import { exchange, type HttpBodyReader, type HttpHead } from './http-exchange.ts';
import { SentSecrets } from './sent-secrets.ts';
import { LIST_BYTES_MAX, type Transport, type TransportAnswer, type TransportRequest } from './transport.ts';

interface HttpTransportOptions {
  /** As returned by {@link parseRepositoryUrl}: without user, query and trailing slash. */
  readonly url: string;
  readonly access: RepositoryAccess;
  /** The maximum size of the answer, in bytes. */
  readonly answerBytesMax: number;
  /** How long the server may be silent, in milliseconds. */
  readonly silenceMs: number;
}

/** Hosts recognise Git by the beginning of the user agent. */
const USER_AGENT = 'git/treeline';
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const REDIRECTS_MAX = 3;
const TEXT_MAX = 200;

/** Returns the transport. Sends nothing before the first request. Throws SourceError like {@link checkEncryption}. */
export function createHttpTransport(options: HttpTransportOptions): Transport {
  checkEncryption(options.url, options.access.username !== null || options.access.password !== null);
  return new HttpTransport(options);
}

class HttpTransport implements Transport {
  readonly #options: HttpTransportOptions;
  readonly secrets = new SentSecrets();
  /** The base URL of the conversation: the first request, a GET, may be redirected within the origin. */
  #base: string;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
    this.#base = options.url;
  }

  get url(): string {
    return this.#options.url;
  }

  get name(): string {
    return this.url;
  }

  request(request: TransportRequest): Promise<TransportAnswer> {
    const contentType = this.#contentTypeFor(request);
    return this.#follow(request, LIST_BYTES_MAX, async (head, body) => {
      const answer = { ...head, body: [await buffer(body)] };
      checkAnswer(answer, { name: this.name, access: this.#options.access, contentType });
      const { status: statusCode, statusMessage } = head;
      return { statusCode, statusMessage, headers: { 'content-type': contentType }, body: answer.body };
    });
  }

  stream<Value>(request: TransportRequest, work: (body: AsyncIterable<Uint8Array>) => Promise<Value>): Promise<Value> {
    const contentType = this.#contentTypeFor(request);
    return this.#follow(request, this.#options.answerBytesMax, async (head, body) => {
      const rest = body[Symbol.asyncIterator]();
      const beginning = await readBeginning(rest);
      checkAnswer({ ...head, body: beginning }, { name: this.name, access: this.#options.access, contentType });
      return await work(joined(beginning, rest));
    });
  }

  #contentTypeFor(request: TransportRequest): string {
    return contentTypeOf(request.url.slice(this.url.length));
  }

  #follow<Value>(request: TransportRequest, bytesMax: number, read: HttpBodyReader<Value>): Promise<Value> {
    const options = { ...this.#options, answerBytesMax: Math.min(this.#options.answerBytesMax, bytesMax) };
    return this.secrets.guard(() => this.#followRedirects(request, options, read));
  }

  /** Sends the request, and follows a limited number of redirects. */
  async #followRedirects<Value>(
    request: TransportRequest,
    options: HttpTransportOptions,
    read: HttpBodyReader<Value>,
  ): Promise<Value> {
    const { url } = this;
    const path = request.url.slice(url.length);
    if (request.method === 'GET') this.#base = url;
    for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
      const order = { ...options, target: new URL(`${this.#base}${path}`) };
      const answer = await this.#exchange(request, order, async (head, body) =>
        REDIRECTS.has(head.status) ? { to: head } : { value: await read(head, body) },
      );
      if (answer.to === undefined) return answer.value;
      if (request.method !== 'GET')
        throw new SourceError(`"${url}" redirects in the middle of a fetch: check repository.url`);
      this.#base = redirected(answer.to, { url, base: this.#base, path });
    }
    throw new SourceError(`"${url}" redirects more than ${REDIRECTS_MAX} times: check repository.url`);
  }

  async #exchange<Value>(
    request: TransportRequest,
    options: HttpTransportOptions & { readonly target: URL },
    read: HttpBodyReader<Value>,
  ): Promise<Value> {
    const { access } = options;
    const { method, headers, body, signal, sending } = request;
    const { authorization, login, ca } = await readHttpSecrets(access);
    for (const each of [...proxyLogins(), ...(login === undefined ? [] : [login])]) this.secrets.add(each);
    const own = { 'user-agent': USER_AGENT, 'accept-encoding': 'identity' };
    const secret = authorization === undefined ? {} : { authorization };
    const sent = { ...headers, ...own, ...secret };
    const order = { ...options, method, headers: sent, body, ca, signal, sending };
    try {
      return await exchange(order, read);
    } catch (error) {
      signal.throwIfAborted();
      throw connectionFailure(error, { name: this.name, caFile: access.caFile });
    }
  }
}

async function readBeginning(body: AsyncIterator<Buffer>): Promise<readonly Buffer[]> {
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes < BEGINNING_BYTES; ) {
    const next = await body.next();
    if (next.done === true) break;
    chunks.push(next.value);
    bytes += next.value.length;
  }
  return chunks;
}

async function* joined(beginning: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield* beginning;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

/** Returns the new location of the repository. Throws SourceError if it is at another origin, or is no repository. */
function redirected(
  { headers: { location = '' } }: HttpHead,
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
