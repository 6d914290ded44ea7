// A proxy for tests: whatever it is asked for, it leads to one port of this machine.
import http from 'node:http';
import { connect, type Socket } from 'node:net';
import { listenInTest } from './listen-in-test.ts';

export interface HttpProxy {
  readonly url: string;
  /** Each request as `METHOD target`. */
  readonly requests: readonly string[];
  /** The connections that are open. */
  readonly sockets: ReadonlySet<Socket>;
  /** Refuse with this status, or say nothing at all. */
  answer: number | 'silence' | undefined;
}

/** Starts a proxy to a port, which does not outlive the running test. */
export async function startHttpProxy(port: number): Promise<HttpProxy> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const server = http.createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    response.writeHead(typeof proxy.answer === 'number' ? proxy.answer : 200).end();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (request, socket, head) => {
    requests.push(`CONNECT ${request.url}`);
    if (proxy.answer === 'silence') {
      // Only who reads notices that the other side hangs up.
      socket.resume().on('end', () => socket.end());
      return;
    }
    if (proxy.answer !== undefined) {
      socket.end(`HTTP/1.1 ${proxy.answer} No\r\n\r\n`);
      return;
    }
    const target = connect(port, '127.0.0.1');
    target.on('error', () => socket.destroy());
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    target.write(head);
    socket.pipe(target).pipe(socket);
  });
  const own = await listenInTest(server);
  const proxy: HttpProxy = { url: `http://127.0.0.1:${own}`, requests, sockets, answer: undefined };
  return proxy;
}
