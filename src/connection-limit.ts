// Limits the connections of a listener without locking clients out: at the limit, an idle connection is closed for a
// new one. Independent of the requests. See docs/operations.md, connections.
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** How many connections a listener holds. */
interface ConnectionLimits {
  readonly max: number;
  /** Of one client certificate. Left out: as many as of all. */
  readonly ofClient?: number;
}

/**
 * Keeps at most `max` connections of a server that does not listen yet, and at most `ofClient` of each client. For a new one beyond
 * them it closes the oldest that never sent a request; else the one that has been idle longest; else the oldest whose request is
 * incomplete; of the same client, where that has too many. If every such connection waits for an answer, it closes the new one.
 */
export function limitConnections(server: HttpServer | HttpsServer, { max, ofClient = max }: ConnectionLimits): void {
  /** By remote address, the oldest first. */
  const connections = new Map<string, OpenConnection>();
  const opened = new WeakMap<Socket, OpenConnection>();
  let answers = 0;
  const countAnswer = (): number => ++answers;

  function accept(socket: Socket): void {
    const name = nameOf(socket);
    if (connections.size >= max && !closeOne(connections, connections)) {
      socket.destroy();
      return;
    }
    const open = new OpenConnection(socket, countAnswer);
    connections.set(name, open);
    opened.set(socket, open);
    socket.once('close', () => {
      if (connections.get(name) === open) connections.delete(name);
    });
  }

  function begin(request: IncomingMessage, response: ServerResponse): void {
    opened.get(request.socket)?.begin(request, response);
  }

  function limitClient(open: OpenConnection, name: string): void {
    if (connections.size <= ofClient) return;
    const isOwn = ([, { client }]: readonly [string, OpenConnection]): boolean => client === open.client;
    const own = new Map([...connections].filter(isOwn));
    if (own.size <= ofClient) return;
    own.delete(name);
    if (!closeOne(own, connections)) open.socket.destroy();
  }

  server.on('connection', accept);
  server.on('secureConnection', (socket: TLSSocket) => {
    // The encrypted and the plain socket are two objects; their addresses are what they have in common.
    const open = connections.get(nameOf(socket));
    if (open === undefined) return;
    open.socket = socket;
    opened.set(socket, open);
    open.client = socket.getPeerX509Certificate()?.fingerprint256;
    limitClient(open, nameOf(socket));
  });
  server.prependListener('request', begin);
  server.prependListener('checkExpectation', begin);
}

class OpenConnection {
  /** With TLS, the encrypted socket once its handshake is done. */
  socket: Socket;
  /** The fingerprint of the certificate; undefined before the handshake is done, and without TLS. */
  client: string | undefined;
  /** Orders the idle connections: the number of answers of all connections when this one became idle. */
  idleSince = 0;
  #last: IncomingMessage | undefined;
  /** Several if the client pipelines. */
  #unanswered = 0;
  readonly #endAnswer: () => void;

  constructor(socket: Socket, countAnswer: () => number) {
    this.socket = socket;
    this.#endAnswer = () => {
      this.#unanswered -= 1;
      this.idleSince = countAnswer();
    };
  }

  get hasAsked(): boolean {
    return this.#last !== undefined;
  }

  get isIdle(): boolean {
    return this.#unanswered === 0;
  }

  /** True if the only request that is not answered has not arrived as a whole: those before the last one have. */
  get isIncomplete(): boolean {
    return this.#unanswered === 1 && this.#last?.complete === false;
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    this.#last = request;
    this.#unanswered += 1;
    response.on('close', this.#endAnswer);
  }
}

type Connections = ReadonlyMap<string, OpenConnection>;

/** Closes and forgets one of the candidates; returns false where each of them waits for an answer. */
function closeOne(candidates: Connections, connections: Map<string, OpenConnection>): boolean {
  const name =
    firstOf(candidates, ({ hasAsked }) => !hasAsked) ??
    longestIdleOf(candidates) ??
    firstOf(candidates, ({ isIncomplete }) => isIncomplete);
  if (name === undefined) return false;
  connections.get(name)?.socket.destroy();
  return connections.delete(name);
}

function firstOf(connections: Connections, isWanted: (open: OpenConnection) => boolean): string | undefined {
  for (const [name, open] of connections) if (isWanted(open)) return name;
  return undefined;
}

function longestIdleOf(connections: Connections): string | undefined {
  let longest: readonly [name: string, idleSince: number] | undefined;
  for (const [name, { isIdle, idleSince }] of connections) {
    if (isIdle && (longest === undefined || idleSince < longest[1])) longest = [name, idleSince];
  }
  return longest?.[0];
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
