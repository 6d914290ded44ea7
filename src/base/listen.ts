// Starts and stops listeners. Does not handle requests.
import { createServer, type Server as HttpServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** The address of a listener; port 0: any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const CONNECTIONS_MAX = 1_000;

/** A running listener. */
export interface Listening extends ListenAddress {
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
}

/** Returns a server with limits that answers with `serve`. It does not listen yet. */
export function createPlainServer(serve: RequestListener): HttpServer {
  const times = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 };
  const server = createServer({ maxHeaderSize: 8 * 1024, ...times }, serve);
  server.maxConnections = CONNECTIONS_MAX;
  return server;
}

/**
 * Resolves with the address once a server accepts connections. Throws if the address is in use or not available; the
 * error then names `setting`, the setting of the port.
 */
export async function listenOn(server: Server, { host, port }: ListenAddress, setting?: string): Promise<AddressInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: Error): void => reject(Object.assign(error, { setting }));
  server.once('error', fail);
  server.listen(port, host, resolve);
  await promise;
  server.off('error', fail);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error(`${host}:${port} is not a TCP address`);
  return address;
}

/** Stops listening and ends every connection, including active ones. */
export async function closeAtOnce(server: HttpServer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}
