import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createManagement, type Management } from '../../src/management/server.ts';

let ready: true | string;
let management: Management;
beforeEach(async () => {
  ready = true;
  management = await createManagement({ host: '127.0.0.1', port: 0, ready: () => ready });
});
afterEach(() => management.close());

function ask(path: string, method = 'GET'): Promise<Response> {
  return fetch(`http://127.0.0.1:${management.port}${path}`, { method });
}

test.each(['/livez', '/readyz', '/livez?verbose=1'])('%s is well', async (path) => {
  const response = await ask(path);
  expect({ status: response.status, body: await response.json() }).toEqual({
    status: 200,
    body: { message: 'ok', return_code: 200 },
  });
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const head = await ask(path, 'HEAD');
  expect({ status: head.status, text: await head.text() }).toEqual({ status: 200, text: '' });
});

test('readyz says why not, and livez stays well', async () => {
  ready = 'the repository was not read yet';
  const response = await ask('/readyz');
  expect({ status: response.status, body: await response.json() }).toEqual({
    status: 503,
    body: { message: 'the repository was not read yet', return_code: 503 },
  });
  expect((await ask('/livez')).status).toBe(200);
  ready = true;
  expect((await ask('/readyz')).status).toBe(200);
});

test.each([
  ['GET', '/', 404],
  ['GET', '/livez/x', 404],
  ['POST', '/nothing', 404],
  ['POST', '/livez', 405],
  ['DELETE', '/readyz', 405],
])('%s %s is %i', async (method, path, status) => {
  const response = await ask(path, method);
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status,
    body: { return_code: status },
  });
  expect(response.headers.get('allow')).toBe(status === 405 ? 'GET, HEAD' : null);
});

test('a taken address is said', async () => {
  const { port } = management;
  await expect(createManagement({ host: '127.0.0.1', port, ready: () => true })).rejects.toThrow(/EADDRINUSE/);
});

test('close ends open connections', async () => {
  const socket = connect(management.port, '127.0.0.1');
  await once(socket, 'connect');
  await ask('/livez');
  const ended = once(socket, 'close');
  await management.close();
  await ended;
});
