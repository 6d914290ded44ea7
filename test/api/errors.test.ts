// Everything that can be wrong with a request is answered in JSON, with the same body, and never with more than it needs.
import { createServer } from 'node:http';
import express from 'express';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { answerErrors } from '../../src/api/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { createHttpsClient, type Reply, sendRaw } from '../support/https-client.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

test('every answer names the replica, also one that no route has let pass', async () => {
  const { proxy } = api.identities;
  const answers = await Promise.all([
    api.request('/tree/'),
    api.request('/nothing'),
    api.request('/types/zone/', { method: 'POST', identity: proxy }),
    api.request('/hiera/all', { headers: { 'If-None-Match': '*' } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 403, 304]);
  for (const { headers } of answers) expect(headers['x-treeline-replica']).toBe('test-1');
});

describe('404', () => {
  test.each([
    [
      '/nope',
      'There is nothing at GET /nope; everything is below /openapi.json, /stacks, /clients, /types, /hiera, /tree, /operations, /events, /agent',
    ],
    ['/Stacks/instances', 'There is nothing at GET /Stacks/instances; did you mean "/stacks"?'],
    ['/stacks', 'There is nothing at GET /stacks; below it are instances, templates'],
    ['/stacks/nodes/', 'There is nothing at GET /stacks/nodes/; below /stacks are instances, templates'],
    ['/operations/helt', 'There is nothing at GET /operations/helt; did you mean "held"?'],
    [
      '/readyz',
      'There is nothing at GET /readyz; /livez, /readyz, /leaderz and /metrics are asked over plain HTTP, on the port of the setting management.port',
    ],
    ['/hiera', 'There is nothing at GET /hiera; below it are all, <clientcert>'],
    ['/hiera/a/b/c', 'There is nothing at GET /hiera/a/b/c; below /hiera are all, <clientcert>'],
    ['/hiera/nobody', 'There is no "nobody"'],
    ['/hiera/shop-web/Zone', 'There is no "Zone"'],
    ['/hiera/shop-web/zone%2Fx', 'There is no "zone/x"'],
    ['/hiera/__proto__', 'There is no "__proto__"'],
    ['/hiera/all/zone', 'There is no "all"'],
    ['/stacks/instances/nothing', 'There is no "nothing"'],
    ['/stacks/templates/%22', 'There is no """'],
    ['/types/zone/nothing', 'There is no "nothing"'],
  ])('%s', async (path, message) => {
    const { status, headers, body } = await api.request(path);
    expect({ status, body }).toEqual({ status: 404, body: { message, return_code: 404, error: 'not_found' } });
    expect(headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(headers).not.toHaveProperty('etag');
  });
});

describe('bad percent-encoding', () => {
  test.each(['/hiera/%zz', '/hiera/%', '/nothing/%E0%A4%A', '/types/zone/%ff?x=1'])('%s', async (path) => {
    const { status, body } = await api.request(path);
    const message = `"${path.split('?')[0]}" holds a "%" that begins no encoded character: a "%" itself is written %25`;
    expect({ status, body }).toEqual({ status: 400, body: { message, return_code: 400, error: 'invalid_input' } });
  });
});

describe('the length of a URL', () => {
  test('may be 2048 bytes', async () => {
    expect((await api.request(`/tree?${'&'.repeat(2048 - 6)}`)).status).toBe(200);
  });
  test('is 414 beyond', async () => {
    const { status, body } = await api.request(`/tree?${'&'.repeat(2048 - 5)}`);
    const message = 'The URL is 2049 bytes long; at most 2048 are read';
    expect({ status, body }).toEqual({ status: 414, body: { message, return_code: 414, error: 'uri_too_long' } });
  });
});

describe('what the reader throws', () => {
  /** Without what is described: no reader throws all of these where a tree is read. */
  const request = (path: string): Promise<Reply> => {
    return createHttpsClient(api.server, api.identities.administrator).request(path);
  };
  afterEach(() => {
    api.reader.fault = undefined;
  });

  test('with details shows them', async () => {
    const details = [{ file: 'tree.yaml', line: 3, column: 1, pointer: '/name', message: 'is missing' }];
    api.reader.fault = new ServiceError('breaks_others', 'This breaks others', details);
    const { status, body } = await request('/tree');
    const want = { message: 'This breaks others', return_code: 422, error: 'breaks_others', details };
    expect({ status, body }).toEqual({ status: 422, body: want });
  });

  test.each([
    ['an error', new TypeError('secret is undefined')],
    ['an internal one', new ServiceError('internal', 'secret')],
  ])('unexpectedly is 500 and logged once: %s', async (_name, fault) => {
    api.reader.fault = fault;
    const before = api.lines.length;
    const { status, headers, body } = await request('/tree?&');
    const id = headers['x-request-id'];
    expect({ status, body }).toEqual({
      status: 500,
      body: {
        message: `Treeline failed to answer. This is a mistake of Treeline; its log has the details under request ${id}`,
        return_code: 500,
        error: 'internal',
      },
    });
    const logged = api.lines.slice(before).map((line) => JSON.parse(line));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toMatchObject({
      level: 50,
      request: id,
      method: 'GET',
      url: '/tree?&',
      err: { stack: fault.stack },
    });
  });
});

describe('an error after the answer has begun', () => {
  test('breaks the connection, so that nobody takes half an answer for a whole one', async () => {
    const lines: string[] = [];
    const app = express();
    app.get('/', (_request, response) => {
      response.write('[');
      throw new Error('too late');
    });
    app.use(answerErrors(createLog('error', { write: (line) => lines.push(line) })));
    const server = createServer(app);
    const port = await listenInTest(server);
    const answer = fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
    await expect(answer).rejects.toThrow();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('too late');
  });
});

describe('bytes on the wire', () => {
  function send(text: string): Promise<string> {
    return sendRaw(api.server, api.identities.administrator, text);
  }

  test.each<[string, string, number]>([
    ['a bad request line', 'rubbish\r\n\r\n', 400],
    ['another protocol', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n', 400],
    ['a bad header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header: y\r\n\r\n', 400],
    [
      'two lengths',
      'POST /tree HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['headers of more than 8 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(9_000)}\r\n\r\n`, 431],
    ['no Host', 'GET /tree HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['an unknown expectation', 'GET /tree HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\nConnection: close\r\n\r\n', 417],
  ])('%s is refused by Node', async (_name, text, status) => {
    expect(await send(text)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  test('an asterisk is no path', async () => {
    expect(await send('OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 404 [\s\S]*"not_found"/,
    );
  });

  test('HTTP/1.0 needs no Host', async () => {
    expect(await send('GET /types/zone HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('an absolute URL is as good as a path', async () => {
    const text = 'GET https://localhost/hiera/shop-web/zone HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    expect(await send(text)).toMatch(/^HTTP\/1\.1 200 [\s\S]*"z1"$/);
  });

  test('Expect: 100-continue is met', async () => {
    const text =
      'POST /tree HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}';
    const received = await sendRaw(api.server, api.identities.administrator, text);
    expect(received).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
  });

  test('the server is well after all that', async () => {
    expect((await api.request('/tree')).status).toBe(200);
  });
});
