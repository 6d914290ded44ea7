// Has the servers of tests listen on free ports of this machine.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Server as HttpServer, RequestListener } from 'node:http';
import { createServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createAuthority, issueServerCertificate } from '../../src/base/development-pki.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** Returns the port of a server, which listens until the running test has ended; then its connections end too. */
export async function listenInTest(server: Server | HttpServer | HttpsServer): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    // A client that hangs up is no failure of the test.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** Returns the port of an HTTPS server of its own authority, whose certificate is in `caFile`. */
export async function serveInTest(
  listener: RequestListener,
  host = '127.0.0.1',
): Promise<{ readonly port: number; readonly caFile: string }> {
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'Authority of a test', now });
  const { key, cert } = await issueServerCertificate(authority, { now, hosts: [host] });
  const caFile = join(temporaryDirectory(), 'ca.crt');
  writeFileSync(caFile, authority.cert);
  return { port: await listenInTest(createServer({ key, cert }, listener)), caFile };
}
