// The memory that a listener keeps for requests that are answered.
import { connect } from 'node:tls';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { startListener } from '../../src/api/listener.ts';
import { createLog } from '../../src/log.ts';
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
