// The connection of the command line to a controller.
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { getFrom } from '../../src/cli/server-connection.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

it('counts its limit from the start of a request to a peer that accepts and says nothing', async () => {
  const folder = temporaryDirectory();
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'authority', now });
  const { key, cert } = await issueClientCertificate(authority, { commonName: 'operator', now });
  const files = { key: join(folder, 'key'), cert: join(folder, 'cert'), ca: join(folder, 'ca') };
  for (const [file, text] of [
    [files.key, key],
    [files.cert, cert],
    [files.ca, authority.cert],
  ] as const) {
    writeFileSync(file, text);
  }
  const sockets: Socket[] = [];
  const silent = createServer((socket) => void sockets.push(socket));
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const server = `https://127.0.0.1:${await listenInTest(silent)}`;
  const asked = getFrom({ server, ...files }, '/operations/status', { timeoutMs: 1_000 });
  // Timers of one process fire in their order, however busy the machine is.
  const end = await Promise.race([asked.catch(String), wait(1_900, 'still waiting')]);
  expect(end).toMatch(/cannot be asked: no answer within 1 s/);
});
