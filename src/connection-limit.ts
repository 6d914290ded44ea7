// Limits the connections of a listener without locking clients out: at the limit, an idle connection is closed for a
// new one. Independent of the requests. See docs/operations.md, connections.
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';

interface Open {
  /** The remote address. */
  readonly name: string;
  /** With TLS, the encrypted socket once its handshake is done. */
  socket: Socket;
  hasAsked: boolean;
  /** The unanswered requests; several if the client pipelines. */
  readonly requests: Set<IncomingMessage>;
}

/**
 * Keeps at most `max` connections of a server that does not listen yet. For a new one beyond them it closes the oldest
 * that never sent a request; else the one that has been idle longest; else the oldest whose request is incomplete. If
 * every connection waits for an answer, it closes the new one.
 */
export function limitConnections(server: HttpServer | HttpsServer, max: number): void {
  /** By remote address, the longest idle first. */
  const connections = new Map<string, Open>();
  const opened = new WeakMap<Socket, Open>();

  function accept(socket: Socket): void {
    const name = nameOf(socket);
    if (connections.size >= max && !makeRoom(connections)) {
      socket.destroy();
      return;
    }
    const open: Open = { name, socket, hasAsked: false, requests: new Set() };
    connections.set(name, open);
    opened.set(socket, open);
    socket.once('close', () => {
      if (connections.get(name) === open) connections.delete(name);
    });
  }

  function begin(request: IncomingMessage, response: ServerResponse): void {
    const open = opened.get(request.socket);
    if (open === undefined) return;
    const { name } = open;
    open.hasAsked = true;
    open.requests.add(request);
    response.on('close', () => {
      open.requests.delete(request);
      if (open.requests.size > 0 || connections.get(name) !== open) return;
      // Idle from now on: moves to the end of the order.
      connections.delete(name);
      connections.set(name, open);
    });
  }

  server.on('connection', accept);
  server.on('secureConnection', (socket: Socket) => {
    // The encrypted and the plain socket are two objects; their addresses are what they have in common.
    const open = connections.get(nameOf(socket));
    if (open === undefined) return;
    open.socket = socket;
    opened.set(socket, open);
  });
  server.prependListener('request', begin);
  server.prependListener('checkExpectation', begin);
}

const LEAST_MISSED: readonly ((open: Open) => boolean)[] = [
  ({ hasAsked }) => !hasAsked,
  ({ requests }) => requests.size === 0,
  ({ requests }) => [...requests].every(({ complete }) => !complete),
];

function makeRoom(connections: Map<string, Open>): boolean {
  for (const isLeastMissed of LEAST_MISSED) {
    for (const [name, open] of connections) {
      if (!isLeastMissed(open)) continue;
      connections.delete(name);
      open.socket.destroy();
      return true;
    }
  }
  return false;
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
