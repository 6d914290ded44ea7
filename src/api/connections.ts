// Tracks connections, so that they can be closed without cutting off an answer, and checked again after the TLS
// material has changed.
import type { ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Exchange } from './broken-request.ts';

/** The open connections of a listener, and what goes on on each. */
export interface Connections {
  /** Takes a request up; false: it gets no answer, and its connection ends at once or with the answer under way. */
  begin(response: ServerResponse): boolean;
  /** Returns what goes on on this connection. */
  exchangeOn(socket: Duplex): Exchange;
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

/**
 * Returns the connections of a server that does not listen yet. `mayStay` is asked at each request on a connection that is
 * older than the last `renewAll`.
 */
export function trackConnections(server: Server, mayStay: (socket: Duplex) => boolean): Connections {
  let generation = 0;
  let isEnding = false;
  const handshakes = trackHandshakes(server, () => generation);
  const generations = new WeakMap<Duplex, number>();
  const retired = new WeakSet<Duplex>();
  const answering = new Set<ServerResponse>();
  const last = new WeakMap<Duplex, ServerResponse>();

  const isOld = (socket: Duplex): boolean => generations.get(socket) !== generation;
  const isRetired = (socket: Duplex): boolean => isEnding || retired.has(socket);
  function answersOn(socket: Duplex): ServerResponse[] {
    return [...answering].filter((response) => response.req.socket === socket);
  }
  server.on('secureConnection', (socket) => generations.set(socket, handshakes.finish(socket)));

  function retire(socket: Duplex): void {
    const answers = answersOn(socket);
    retired.add(socket);
    answers.forEach(announceEnd);
    if (answers.length === 0 && socket instanceof Socket) socket.destroySoon();
  }

  return {
    exchangeOn: (socket) => ({ answers: answersOn(socket), last: last.get(socket), retire: () => retire(socket) }),
    begin(response) {
      const { socket } = response.req;
      // The connection ends with the answer before this: the client would never learn the result of this one.
      if (last.get(socket)?.getHeader('Connection') === 'close') return false;
      last.set(socket, response);
      if (isOld(socket) && !mayStay(socket)) {
        retired.add(socket);
        if (answersOn(socket).length === 0) socket.destroy();
        return false;
      }
      answering.add(response);
      response.on('close', () => {
        answering.delete(response);
        if (isRetired(socket)) socket.destroySoon();
      });
      if (isOld(socket) || isRetired(socket)) announceEnd(response);
      return true;
    },
    renewAll() {
      generation += 1;
      answering.forEach(announceEnd);
    },
    endAll() {
      isEnding = true;
      answering.forEach(announceEnd);
      handshakes.destroyAll();
      server.closeIdleConnections();
    },
    destroyAll() {
      handshakes.destroyAll();
      server.closeAllConnections();
    },
  };
}

/** Tells the client, where that is still possible, that no other answer follows on this connection. */
function announceEnd(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
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
