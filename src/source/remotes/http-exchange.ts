// One HTTP request and its whole answer, with an end to its size, to silence and to waiting. Follows no redirects, keeps
// no connection, and goes through a proxy where the environment names one. Knows nothing about Git.
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { untilAborted } from '../../git/until-aborted.ts';
import { SourceError } from '../source.ts';
import { isLoopback } from './http-access.ts';

export interface HttpOrder {
  readonly target: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** PEM; undefined: the authorities that Node trusts. */
  readonly ca: string | undefined;
  /** The largest answer that is taken, in bytes. */
  readonly answerBytesMax: number;
  /** How long the server may send nothing at all, connecting included, in milliseconds. */
  readonly silenceMs: number;
  readonly signal: AbortSignal;
  /** Called when there is a connection, before anything is written to it. */
  readonly sending?: (() => void) | undefined;
}

export interface HttpHead {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: IncomingHttpHeaders;
}

/** What is made of an answer, whose body comes piece by piece. The body is empty where the status is not 200. */
export type AnswerReader<Value> = (head: HttpHead, body: AsyncIterable<Buffer>) => Promise<Value>;

interface Connection {
  readonly agent: http.Agent;
  close(): void;
}

/**
 * Returns what `read` makes of the answer. Throws Node's own error where the connection fails, SourceError at a limit, the
 * signal's reason; to whoever reads the body, too.
 */
export async function exchange<Value>(order: HttpOrder, read: AnswerReader<Value>): Promise<Value> {
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
      return await read({ status, statusMessage, headers }, bodyOf(incoming, order, silence));
    });
  } finally {
    clearTimeout(silence);
    connection.close();
  }
}

async function* bodyOf(
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
  // What is done with it now may take longer than the server may be silent.
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

/** Remembers its sockets: while a proxy opens a tunnel, Node's agent does not know the one that leads to the proxy. */
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
  // A proxy would see the password that may be sent to this machine itself.
  return isLoopback(hostname) ? new http.Agent() : new http.Agent({ proxyEnv });
}
