// Sends one HTTP request and reads the whole answer, with limits for its size, silence and duration. Follows no
// redirects, keeps no connection, and uses the proxy that the environment names. Independent of Git.
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { untilAborted } from '../git/until-aborted.ts';
import { SourceError } from '../source.ts';
import { isLoopback } from './http-access.ts';

interface HttpOrder {
  readonly target: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** PEM; undefined: the authorities that Node trusts. */
  readonly ca: string | undefined;
  /** The maximum size of the answer, in bytes. */
  readonly answerBytesMax: number;
  /** How long the server may be silent, connecting included, in milliseconds. */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
  /** Called once connected, before the first byte is written. */
  readonly sending?: (() => void) | undefined;
}

/** The head of an HTTP answer. */
export interface HttpHead {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: IncomingHttpHeaders;
}

/** Reads the answer, whose body arrives in pieces. The body is empty if the status is not 200. */
export type HttpBodyReader<Value> = (head: HttpHead, body: AsyncIterable<Buffer>) => Promise<Value>;

interface Connection {
  readonly agent: http.Agent;
  close(): void;
}

/**
 * Returns the result of `read`. Throws Node's own error if the connection fails, SourceError at a limit, or the
 * signal's reason; reading the body throws the same.
 */
export async function exchange<Value>(order: HttpOrder, read: HttpBodyReader<Value>): Promise<Value> {
  const { target, silenceMs, signal } = order;
  const silent = new AbortController();
  const silence = setTimeout(
    () =>
      silent.abort(new SourceError(`"${target.host}" sent nothing for ${silenceMs / 1000} s: it is asked again later`)),
    silenceMs,
  );
  const connection = openConnection(order);
  try {
    return await untilAborted(AbortSignal.any([signal, silent.signal]), async () => {
      const incoming = await send(order, connection.agent);
      silence.refresh();
      const { statusCode: status = 0, statusMessage = '', headers } = incoming;
      return await read({ status, statusMessage, headers }, readBody(incoming, order, silence));
    });
  } finally {
    clearTimeout(silence);
    connection.close();
  }
}

async function* readBody(
  incoming: IncomingMessage,
  { target, answerBytesMax }: HttpOrder,
  silence: NodeJS.Timeout,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  if (incoming.statusCode === 200) {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > answerBytesMax) {
        throw new SourceError(`"${target.host}" sends more than the ${answerBytesMax} bytes that are taken at once`);
      }
      yield chunk;
      silence.refresh();
    }
  }
  // The silence limit does not apply to processing the answer.
  clearTimeout(silence);
}

function send({ target, method, headers, body, sending }: HttpOrder, agent: http.Agent): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { request } = target.protocol === 'https:' ? https : http;
  const length = method === 'GET' ? {} : { 'content-length': String(body.length) };
  const outgoing = request(target, { method, headers: { ...headers, ...length }, agent });
  if (sending !== undefined) outgoing.on('socket', (socket) => whenConnected(socket, sending));
  outgoing.on('response', resolve);
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}

function whenConnected(socket: Socket, work: () => void): void {
  if (socket.connecting) socket.once('connect', work);
  else work();
}

/** Tracks its sockets: while a proxy opens a tunnel, Node's agent does not know the socket to the proxy. */
function openConnection({ target, ca }: HttpOrder): Connection {
  const agent = agentFor(target, ca);
  const sockets = new Set<Duplex>();
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const socket = connect(options, callback);
    if (socket) sockets.add(socket);
    return socket;
  };
  return {
    agent,
    close() {
      for (const socket of sockets) socket.destroy();
      agent.destroy();
    },
  };
}

function agentFor({ protocol, hostname }: URL, ca: string | undefined): http.Agent {
  const proxyEnv = process.env;
  if (protocol === 'https:')
    return new https.Agent({ proxyEnv, rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) });
  // A proxy would see the password, which may be sent unencrypted to this machine itself.
  return isLoopback(hostname) ? new http.Agent() : new http.Agent({ proxyEnv });
}
