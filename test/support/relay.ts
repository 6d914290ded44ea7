// A line between two sites for tests: it passes bytes on to a port of this machine until it is cut, and again once it is
// corrected. While it is cut nothing passes and nobody is told, as with a broken network.
import { connect, createServer, type Socket } from 'node:net';
import { listenInTest } from './listen-in-test.ts';

export interface Relay {
  readonly port: number;
  /** Where it leads to; connections of before keep their end. */
  target: number;
  cut(): void;
  mend(): void;
}

/** Starts a relay to a port, which does not outlive the running test. */
export async function startRelay(target: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((socket) => {
    keep(socket);
    if (isCut) {
      socket.pause();
      return;
    }
    const onward = keep(connect(relay.target, '127.0.0.1'));
    socket.pipe(onward).pipe(socket);
    socket.on('close', () => onward.destroy());
    onward.on('close', () => socket.destroy());
  });
  const port = await listenInTest(server);
  const relay: Relay = {
    port,
    target,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    mend() {
      isCut = false;
      for (const socket of sockets) socket.destroy();
    },
  };
  return relay;
}
