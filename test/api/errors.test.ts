// Everything that can be wrong with a request is answered in JSON, with the same body, and never with more than it needs.
import { createServer } from 'node:http';
import express from 'express';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { answerErrors } from '../../src/api/errors.ts';
import { createLog } from '../../src/base/log.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { createHttpsClient, type Reply } from '../support/https-client.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

test('every answer names the replica, also a refused one', async () => {
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

const SECTIONS = '/openapi.json, /stacks, /clients, /types, /hiera, /tree, /operations, /events, /agent';
const HEALTH = 'are served over plain HTTP on the port of the setting management.port';
test.each([
  ['/nope', `There is nothing at GET /nope; everything is below ${SECTIONS}`],
  ['/Stacks/instances', 'There is nothing at GET /Stacks/instances; did you mean "/stacks/instances"?'],
  ['/stack', 'There is nothing at GET /stack; did you mean "/stacks"?'],
  ['/stacks/nodes/', 'There is nothing at GET /stacks/nodes/; below /stacks are /stacks/instances, /stacks/templates'],
  ['/operations/helt', 'There is nothing at GET /operations/helt; did you mean "/operations/held"?'],
  ['/readyz', `There is nothing at GET /readyz; /livez, /readyz, /leaderz and /metrics ${HEALTH}`],
  ['/hiera/a/b/c', 'There is nothing at GET /hiera/a/b/c; below /hiera are /hiera/all, /hiera/<clientcert>'],
  ['/hiera/shop-web/zone%2Fx', 'There is no "zone/x"'],
  ['/hiera/__proto__', 'There is no "__proto__"'],
  ['/hiera/all/zone', 'There is no "all"'],
])('%s is 404', async (path, message) => {
  const { status, headers, body } = await api.request(path);
  expect({ status, body }).toEqual({ status: 404, body: { message, return_code: 404, error: 'not_found' } });
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(headers).not.toHaveProperty('etag');
});

test.each(['/hiera/%zz', '/hiera/%', '/types/zone/%ff'])('%s has bad percent-encoding', async (path) => {
  const { status, body } = await api.request(path);
  const message = 'The path contains a "%" that does not begin an encoded character: write it as %25';
  expect({ status, body }).toEqual({ status: 400, body: { message, return_code: 400, error: 'invalid_input' } });
});

test('a URL of more than 2048 bytes is 414', async () => {
  expect((await api.request(`/tree?${'&'.repeat(2048 - 6)}`)).status).toBe(200);
  const { status, body } = await api.request(`/tree?${'&'.repeat(2048 - 5)}`);
  const message = 'The URL is 2049 bytes long; at most 2048 are read';
  expect({ status, body }).toEqual({ status: 414, body: { message, return_code: 414, error: 'uri_too_long' } });
});

describe('an error of the reader', () => {
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

  test('for a client over its quota is logged once a minute, and has Retry-After', async () => {
    api.reader.fault = new ServiceError('too_many_requests', 'Too many of these');
    const before = api.lines.length;
    for (let time = 0; time < 2; time += 1) {
      expect(await request('/tree')).toMatchObject({ status: 429, headers: { 'retry-after': '5' } });
    }
    const { serial } = api.identities.administrator;
    const line = { level: 40, client: serial, serial, reason: 'Too many of these', msg: 'a client is over its share' };
    expect(api.lines.slice(before).map((one) => JSON.parse(one))).toMatchObject([line]);
  });

  test.each([
    ['an error', new TypeError('secret is undefined')],
    ['an internal error', new ServiceError('internal', 'secret')],
  ])('that is unexpected is 500 and logged once: %s', async (_name, fault) => {
    api.reader.fault = fault;
    const before = api.lines.length;
    const { status, headers, body } = await request('/tree?&');
    const id = headers['x-request-id'];
    expect({ status, body }).toEqual({
      status: 500,
      body: {
        message: `Treeline failed to answer. This is a bug in Treeline; its log has the details under request ${id}`,
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
  test('closes the connection, so that the answer is not taken as complete', async () => {
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
