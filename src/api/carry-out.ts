// Carries out on the leader what clients have asked of other replicas: through the same application as requests of its
// own, over a connection within this process, so that no route, right or limit exists twice. See docs/rest.md,
// replicas.
import { ClientRequest, createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { duplexPair } from 'node:stream';
import type { ForwardedAnswer, ForwardedRequest } from '../model/forwarded-request.ts';
import { errorBodyOf } from './errors.ts';
import { presentCertificates } from './peer.ts';
import { REPLICA, REQUEST_ID } from './present.ts';

/** An answer as a whole is in memory, and in a row of the database. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;
/** The client's own are limited by the replica that it has asked. */
const HEADER_BYTES_MAX = 16 * 1024;
/** They belong to the connection on which an answer is sent, or the replica that sends it names them. */
const OF_CONNECTION = new Set([
  ...['date', 'keep-alive', 'transfer-encoding'],
  ...[REPLICA, REQUEST_ID].map((name) => name.toLowerCase()),
]);

/**
 * Returns the function that has `app` answer a forwarded request. The client is looked up in the registry of this
 * process, and its certificate judged by the TLS material in force here. Rejects where there is no whole answer; once
 * `signal` fires, the request ends as that of a client which has closed its connection.
 */
export function carryOutForwarded(app: RequestListener) {
  // It never listens: each request brings its own connection.
  const server = createServer({ requireHostHeader: false, maxHeaderSize: HEADER_BYTES_MAX }, app);
  Object.assign(server, { timeout: 0, headersTimeout: 0, requestTimeout: 0, keepAliveTimeout: 0 });

  return async (request: ForwardedRequest, signal: AbortSignal): Promise<ForwardedAnswer> => {
    const [near, far] = duplexPair();
    const { promise, resolve, reject } = Promise.withResolvers<ForwardedAnswer>();
    presentCertificates(far, request.certificates);
    server.emit('connection', far);
    const { method, target: path, headers, id, body } = request;
    const outgoing = new ClientRequest({
      method,
      path,
      setHost: false,
      signal,
      createConnection: () => near,
      // Else the server would end the connection, and nothing would tell where the application wants that.
      headers: { host: 'replica', ...headers, 'x-request-id': id, connection: 'keep-alive' },
    });
    outgoing.on('response', (incoming) => readAnswer(incoming).then(resolve, reject));
    outgoing.on('error', reject);
    outgoing.end(body ?? undefined);
    try {
      return await promise;
    } finally {
      near.destroy();
      far.destroy();
    }
  };
}

async function readAnswer(incoming: IncomingMessage): Promise<ForwardedAnswer> {
  const { statusCode: status = 0, rawHeaders } = incoming;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) return tooLarge();
    chunks.push(chunk);
  }
  return { status, headers: headersToForward(rawHeaders), body: Buffer.concat(chunks) };
}

function headersToForward(rawHeaders: readonly string[]): readonly string[] {
  const headers: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    const isKept = name.toLowerCase() === 'connection' ? value === 'close' : !OF_CONNECTION.has(name.toLowerCase());
    if (isKept) headers.push(name, value);
  }
  return headers;
}

function tooLarge(): ForwardedAnswer {
  const message =
    `The leader's answer is larger than ${ANSWER_BYTES_MAX / 1024 / 1024} MiB, which is not carried between replicas: ask the leader ` +
    'itself, which /leaderz on the management listeners tells, or accept gzip';
  const body = Buffer.from(JSON.stringify(errorBodyOf({ code: 'not_ready', message })));
  const headers = ['Content-Type', 'application/json; charset=utf-8', 'Content-Length', String(body.length)];
  return { status: 503, headers, body };
}
