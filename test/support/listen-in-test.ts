// Has the servers of tests listen on free ports of this machine.
import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { onTestFinished } from 'vitest';

/** Returns the port of a server, which listens until the running test has ended. */
export async function listenInTest(server: Server | HttpServer | HttpsServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
