// The connections of a listener: what they keep in memory, and whose requests are handed on next.
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { startListener } from '../../src/api/listener.ts';
import { createLog } from '../../src/base/log.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const CONNECTIONS = 32;
const REQUESTS_A_CONNECTION = 125;
const REQUESTS = CONNECTIONS * REQUESTS_A_CONNECTION;
/** The usual number between two collections of a small heap. */
const REQUESTS_A_COLLECTION = 100;
/** A request and its answer take more than 3,000. */
const KEPT_BYTES_MAX = 400;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { readonly type: 'minor' | 'major' }) => void;

/** Returns the size of the objects that outlived collections of young objects. Only a full collection frees them. */
function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0;
}

/** Sends requests on one connection, each once the answer before is there. */
async function askInTurn(port: number, { server, identities }: TestApi): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host: '127.0.0.1', ...server, port, ...identities.administrator });
  let left = REQUESTS_A_CONNECTION;
  const ask = (): unknown => (left-- > 0 ? socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n') : socket.end());
  socket.on('secureConnect', ask).on('data', ask).on('error', reject).on('close', resolve);
  await promise;
}

test('an answered request does not stay in memory until the next full garbage collection', async () => {
  const site = await startTestApi();
  let requests = 0;
  const listener = await startListener({
    ...{ host: '127.0.0.1', port: 0, tls: site.tls, log: createLog('silent') },
    handler(_request, response) {
      response.writeHead(200, { 'Content-Length': 2 }).end('{}');
      requests += 1;
      if (requests % REQUESTS_A_COLLECTION === 0) collect({ type: 'minor' });
    },
  });
  const askOnAll = (): Promise<unknown> =>
    Promise.all(Array.from({ length: CONNECTIONS }, () => askInTurn(listener.port, site)));
  // What is made once is there after the first time.
  await askOnAll();
  collect({ type: 'major' });
  const before = oldBytes();
  await askOnAll();
  const keptBytes = (oldBytes() - before) / REQUESTS;
  await Promise.all([listener.close(), site.api.close()]);
  expect(requests).toBe(2 * REQUESTS);
  expect(keptBytes).toBeLessThan(KEPT_BYTES_MAX);
});

test('a client with one connection is answered before a client with forty is answered on each', async () => {
  const site = await startTestApi();
  const { administrator, proxy } = site.identities;
  const handled: string[] = [];
  const listener = await startListener({
    ...{ host: '127.0.0.1', port: 0, tls: site.tls, log: createLog('silent') },
    handler({ url }, response) {
      handled.push(url ?? '');
      // Uses up what requests have of a turn of the event loop.
      const end = performance.now() + 5;
      while (performance.now() < end);
      response.writeHead(200, { 'Content-Length': 2 }).end('{}');
    },
  });
  async function open(identity: typeof proxy): Promise<TLSSocket> {
    const socket = connect({ host: '127.0.0.1', ...site.server, port: listener.port, ...identity });
    await once(socket, 'secureConnect');
    return socket.resume();
  }
  const low = await Promise.all(Array.from({ length: 40 }, () => open(proxy)));
  const other = await open(administrator);
  for (const socket of low) socket.write('GET /low HTTP/1.1\r\nHost: x\r\n\r\n');
  other.write('GET /other HTTP/1.1\r\nHost: x\r\n\r\n');
  await expect.poll(() => handled.length, { timeout: 10_000 }).toBe(41);
  for (const socket of [...low, other]) socket.destroy();
  await Promise.all([listener.close(), site.api.close()]);
  expect(handled.indexOf('/other')).toBeLessThan(10);
});
