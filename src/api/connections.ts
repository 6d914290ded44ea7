// Tracks connections, so that they can be closed without cutting off an answer, and checked again after the TLS
// material has changed.
import type { RequestListener, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Exchange } from './broken-request.ts';
import { clientTurns } from './client-turns.ts';
import { Connection } from './connection.ts';

/** The open connections of a listener. */
export interface Connections {
  /** Returns what goes on on a connection; undefined before its handshake is done, and once it is closed. */
  exchangeOn(socket: Duplex): Exchange | undefined;
  /**
   * Lets every connection there is now, also those whose handshake is under way, have one more answer, which tells that it
   * is the last; or the one under way, where that can still tell. So no client is cut off that has a request on its way.
   */
  renewAll(): void;
  /** Ends every connection: with the answer that is under way, else at once. */
  endAll(): void;
  /** Ends every connection there is now, whatever happens on it. */
  destroyAll(): void;
}

interface TrackOptions {
  /** Is asked when a request is handed on, on a connection that is older than the last `renewAll`. */
  readonly mayStay: (socket: Socket) => boolean;
  readonly handler: RequestListener;
}

interface Tracked {
  readonly connection: Connection;
  /** The number of calls of `renewAll` before its handshake. */
  readonly generation: number;
}

/**
 * Returns the connections of a server that does not listen yet, and hands their requests on to `handler`.
 *
 * The facts about a request are kept with its connection, never in a collection of all requests: a Map or Set copies itself
 * when entries come and go, and its old copies keep the requests that they held in memory until the next full garbage
 * collection.
 */
export function trackConnections(server: Server, { mayStay, handler }: TrackOptions): Connections {
  let generation = 0;
  const handshakes = trackHandshakes(server, () => generation);
  const open = new Map<Duplex, Tracked>();

  function track(socket: TLSSocket): void {
    const client = socket.getPeerX509Certificate()?.fingerprint256 ?? '';
    const began = handshakes.finish(socket);
    const inTurn: RequestListener = (request, response) => {
      clientTurns.take(client, () => {
        if (response.destroyed) return;
        // Not when it came: a reload may have been while it waited.
        if (began === generation || mayStay(socket)) handler(request, response);
        else socket.destroySoon();
      });
    };
    open.set(socket, { connection: new Connection(socket, inTurn), generation: began });
    socket.once('close', () => open.delete(socket));
  }
  function take(response: ServerResponse): void {
    const { socket } = response.req;
    const tracked = open.get(socket);
    if (tracked === undefined || tracked.connection.isOver) return;
    tracked.connection.take(response, tracked.generation !== generation || asksToUpgrade(response));
  }
  server.on('secureConnection', track);
  server.on('request', (_request, response) => take(response));
  // Node answers an unknown Expect by itself, and not in JSON, unless this event is handled.
  server.on('checkExpectation', (_request, response) => take(response));

  return {
    exchangeOn: (socket) => open.get(socket)?.connection.exchange(),
    renewAll() {
      generation += 1;
      for (const { connection } of open.values()) connection.announceEnd();
    },
    endAll() {
      for (const { connection } of open.values()) connection.endWithAnswer();
      handshakes.destroyAll();
      server.closeIdleConnections();
    },
    destroyAll() {
      handshakes.destroyAll();
      server.closeAllConnections();
    },
  };
}

/** Node stays with HTTP/1.1 then, and loses what came in one piece with the request: no other answer may follow. */
function asksToUpgrade({ req }: ServerResponse): boolean {
  return req.headers.upgrade !== undefined;
}

interface Handshakes {
  /** Returns the generation in which the handshake of a connection began. */
  finish(socket: Socket): number;
  destroyAll(): void;
}

/**
 * Node counts handshakes among no HTTP connections, and verifies with what held when they began. The encrypted and the
 * plain socket are two objects; their addresses are what they have in common.
 */
function trackHandshakes(server: Server, generation: () => number): Handshakes {
  const open = new Map<string, { readonly socket: Socket; readonly began: number }>();
  server.on('connection', (socket) => {
    const name = nameOf(socket);
    open.set(name, { socket, began: generation() });
    socket.once('close', () => {
      if (open.get(name)?.socket === socket) open.delete(name);
    });
  });
  return {
    finish(socket) {
      const name = nameOf(socket);
      // None that is known: of an unknown generation, and therefore an old one.
      const began = open.get(name)?.began ?? -1;
      open.delete(name);
      return began;
    },
    destroyAll() {
      for (const { socket } of open.values()) socket.destroy();
    },
  };
}

function nameOf({ localAddress, localPort, remoteAddress, remotePort }: Socket): string {
  return `${localAddress} ${localPort} ${remoteAddress} ${remotePort}`;
}
