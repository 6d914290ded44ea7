// Beginning and ending to listen, the same for every door. What comes in through it is the door's own business.
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Where a door is; port 0: any free one. */
export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Resolves with the address once a server accepts connections. Throws where it is taken, or cannot be had. */
export async function listenOn(server: Server, { host, port }: Place): Promise<AddressInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(port, host, resolve);
  await promise;
  server.off('error', reject);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error(`${host}:${port} is no TCP address`);
  return address;
}

/** Stops listening and ends every connection, whatever goes on in it. */
export async function closeAtOnce(server: HttpServer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  server.closeAllConnections();
  await promise;
}
