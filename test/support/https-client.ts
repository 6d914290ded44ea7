// Asks a server over TLS, as a client with a certificate does.
import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request as send } from 'node:https';
import { buffer } from 'node:stream/consumers';

export interface Identity {
  readonly key: string;
  readonly cert: string;
}

export interface Ask {
  readonly method?: string;
  /** Null: without a certificate. */
  readonly identity?: Identity | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent with its length, unless the headers say that it comes in chunks. */
  readonly body?: string | Uint8Array;
  /** Keeps its connection; see `keepAlive`. */
  readonly agent?: Agent;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Parsed; undefined where there is none or it is compressed. */
  readonly body: unknown;
  readonly bytes: Buffer;
}

export interface Server {
  readonly port: number;
  /** PEM. */
  readonly ca: string;
}

export interface HttpsClient {
  request(path: string, ask?: Ask): Promise<Reply>;
}

/**
 * Returns a client that asks as `identity` where a request does not name another. Each request has a connection of its own; with
 * `agent`, it is kept: a handshake takes longer than most answers.
 */
export function createHttpsClient(server: Server, identity: Identity, agent?: Agent): HttpsClient {
  return {
    async request(path, ask = {}) {
      const alone = { identity, ...ask };
      if (agent === undefined || ask.agent !== undefined) return await request(server, path, alone);
      try {
        return await request(server, path, { ...alone, agent });
      } catch (error) {
        // The server may end an idle connection at the moment at which it is used.
        const isRead = (ask.method ?? 'GET') === 'GET';
        if (!isRead || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
        return await request(server, path, alone);
      }
    },
  };
}

/** Returns an agent that keeps the connections of a client, as many as it asks at once. Destroy it in the end. */
export function keepAll(): Agent {
  return new Agent({ keepAlive: true });
}

/** Returns an agent with at most one connection, which is kept. Destroy it in the end. */
export function keepAlive(): Agent {
  return new Agent({ keepAlive: true, maxSockets: 1 });
}

async function request({ port, ca }: Server, path: string, ask: Ask): Promise<Reply> {
  const { identity, body, method = 'GET', agent } = ask;
  const isChunked = ask.headers?.['Transfer-Encoding'] !== undefined;
  const length = body === undefined || isChunked ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const headers = { ...length, ...ask.headers };
  const outgoing = send({ host: '127.0.0.1', port, path, ca, method, headers, ...identity, agent: agent ?? false });
  // A server may answer before it has read all, and hang up.
  outgoing.on('error', () => undefined);
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  const bytes = await buffer(incoming);
  const isPlain = incoming.headers['content-encoding'] === undefined && bytes.length > 0;
  const parsed: unknown = isPlain ? JSON.parse(bytes.toString()) : undefined;
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: parsed, bytes };
}
