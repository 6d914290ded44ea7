// Sends one HTTP request and reads the answer, within limits. Follows no redirects. All parts that send requests use
// it.
import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https, { type RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** A request, ready to be sent. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** The certificates, or an agent with certificates that keeps connections. */
  readonly tls: Pick<RequestOptions, 'ca' | 'cert' | 'key'> & { readonly agent?: http.Agent };
  /** Uses the proxy that the environment names. */
  readonly usesProxy?: boolean;
  /** 0: the body of the answer is not read. */
  readonly bytesMax: number;
  /**
   * How long the server may be silent, from the start of the request. An idle time-out of the socket would not fire the
   * first time during a TLS handshake.
   */
  readonly silenceMs?: number;
  /** Called before a byte of the request is sent; not on a kept connection. */
  readonly onConnect?: () => void;
  /** Receives each part of the body of a 200 as it arrives. */
  readonly onText?: ((text: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The head of an answer. */
export interface HttpHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

/** The answer to a request. */
export interface HttpAnswer extends HttpHead {
  readonly body: Buffer;
}

/** The connection ended after the head of the answer and before its end. */
export class BrokenAnswer extends Error {
  override readonly name = 'BrokenAnswer';
}

/**
 * Returns the answer. Throws BrokenAnswer, an error that names an exceeded limit, the reason of the signal, or Node's
 * own error.
 */
export async function sendRequest(order: HttpRequest): Promise<HttpAnswer> {
  const { body, silenceMs, signal } = order;
  signal?.throwIfAborted();
  const connector = openAgent(order);
  const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
  const sent = startRequest(order, connector.agent);
  // Rejects before destroying, because the end of the answer may arrive together with the excess bytes.
  const end = (error: unknown): void => {
    reject(error);
    sent.destroy();
  };
  const abort = (): void => end(signal?.reason);
  const silence =
    silenceMs === undefined
      ? undefined
      : setTimeout(() => end(new Error(`no answer within ${silenceMs / 1000} s`)), silenceMs);
  signal?.addEventListener('abort', abort, { once: true });
  sent.on('error', reject);
  sent.on('response', (response) => {
    silence?.refresh();
    response.on('data', () => silence?.refresh());
    collect(response, order, { resolve, end });
  });
  sent.end(body);
  try {
    return await promise;
  } finally {
    clearTimeout(silence);
    signal?.removeEventListener('abort', abort);
    connector.close();
  }
}

function startRequest(order: HttpRequest, agent: http.Agent | false): ClientRequest {
  const { url, method, headers, body, tls, onConnect } = order;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const options = { method, headers: { ...headers, ...length }, agent };
  const isSecure = url.protocol === 'https:';
  const sent = isSecure
    ? https.request(url, { rejectUnauthorized: true, ...tls, ...options })
    : http.request(url, options);
  if (onConnect !== undefined) {
    sent.on('socket', (socket) => socket.once(isSecure ? 'secureConnect' : 'connect', onConnect));
  }
  return sent;
}

interface Ending {
  readonly resolve: (answer: HttpAnswer) => void;
  readonly end: (error: unknown) => void;
}

function collect(response: IncomingMessage, { bytesMax, onText }: HttpRequest, { resolve, end }: Ending): void {
  const { statusCode: status = 0, headers } = response;
  const chunks: Buffer[] = [];
  const decoder = new StringDecoder();
  let size = 0;
  response.on('error', (error) => end(new BrokenAnswer(error.message, { cause: error })));
  if (bytesMax === 0) {
    resolve({ status, headers, body: Buffer.alloc(0) });
    response.destroy();
    return;
  }
  response.on('data', (chunk: Buffer) => {
    if (onText !== undefined && status === 200) return onText(decoder.write(chunk));
    size += chunk.length;
    if (size > bytesMax) end(new Error(`the answer has more than ${bytesMax} bytes`));
    else chunks.push(chunk);
  });
  response.on('end', () => resolve({ status, headers, body: Buffer.concat(chunks) }));
}

/** The agent of one request; false if none is needed. */
interface Connector {
  readonly agent: http.Agent | false;
  readonly close: () => void;
}

function openAgent({ url: { protocol, hostname }, tls, usesProxy }: HttpRequest): Connector {
  const isSecure = protocol === 'https:';
  // Requests to this machine may carry a secret unencrypted, so they do not use a proxy.
  if (usesProxy !== true || (!isSecure && isLoopback(hostname))) {
    return { agent: tls.agent ?? false, close: () => undefined };
  }
  const proxyEnv = process.env;
  const agent = isSecure ? new https.Agent({ proxyEnv, ...tls }) : new http.Agent({ proxyEnv });
  // While a proxy opens a tunnel, neither the request nor the agent has the socket to the proxy.
  const sockets = new Set<Duplex>();
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    if (socket) sockets.add(socket);
    return socket;
  };
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    agent.destroy();
  };
  return { agent, close };
}

/** Returns true for names and addresses of this machine. */
export function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]') return true;
  return isIP(hostname) === 4 && hostname.startsWith('127.');
}
