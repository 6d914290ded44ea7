// Sends one HTTP request of a provider and reads the whole answer, within limits. Follows no redirect, keeps no
// connection, and uses no proxy.
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { ANSWER_BYTES_MAX } from '../answer-json.ts';

/** A request, ready to be sent. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** PEM; undefined: the authorities that Node trusts. */
  readonly ca: string | undefined;
  /** Destroys the connection. */
  readonly signal: AbortSignal;
}

/** The answer to a request. */
export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** There is no whole answer. */
export class ExchangeError extends Error {
  override readonly name = 'ExchangeError';
  /** False: no byte of the request was sent, so it has no effect. */
  readonly isSent: boolean;

  constructor(message: string, isSent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.isSent = isSent;
  }
}

/** Returns the answer. Throws ExchangeError if there is none or it is too large, and the signal's reason. */
export async function sendRequest(request: HttpRequest): Promise<HttpReply> {
  const { url, signal } = request;
  signal.throwIfAborted();
  const connection = { isOpen: false };
  try {
    const incoming = await send(request, connection);
    const { statusCode: status = 0, headers } = incoming;
    return { status, headers, body: await readBody(incoming) };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ExchangeError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const words = connection.isOpen ? `the connection to ${url.origin} was lost` : `${url.origin} cannot be reached`;
    throw new ExchangeError(`${words}: ${reason}`, connection.isOpen, { cause: error });
  }
}

function send({ url, method, headers, body, ca, signal }: HttpRequest, connection: { isOpen: boolean }) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isSecure = url.protocol === 'https:';
  const length = method === 'GET' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const outgoing = (isSecure ? https : http).request(url, {
    ...{ method, signal, agent: false, headers: { ...headers, ...length } },
    ...(isSecure ? { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) } : {}),
  });
  outgoing.on('socket', (socket) => {
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      connection.isOpen = true;
    });
  });
  outgoing.on('response', resolve);
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new ExchangeError(`the answer has more than ${ANSWER_BYTES_MAX} bytes`, true);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
