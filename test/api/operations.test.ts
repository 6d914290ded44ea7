// The operations over real TLS: what a body has to say, what is handed on, and what is answered.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Json, JsonMap } from '../../src/model/json.ts';
import type { Ask, Reply } from '../support/https-client.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());
beforeEach(() => {
  api.operator.asked.length = 0;
});

const JSON_TYPE = { 'Content-Type': 'application/json' };
const TIME = '2026-11-20T18:00:00Z';

function post(operation: string, body: Json, ask: Ask = {}): Promise<Reply> {
  return api.request(`/operations/${operation}`, {
    method: 'POST',
    headers: JSON_TYPE,
    body: JSON.stringify(body),
    ...ask,
  });
}

function invalid(message: string, pointers: readonly (readonly [pointer: string, message: string])[] = []) {
  const details = pointers.map(([pointer, text]) => ({ pointer, message: text }));
  const body = { message, return_code: 400, error: 'invalid_input', ...(details.length === 0 ? {} : { details }) };
  return { status: 400, body };
}

interface Row {
  readonly operation: string;
  readonly body: JsonMap;
  /** The calls that the operator gets. */
  readonly asked: readonly unknown[];
}

const ROWS: readonly Row[] = [
  { operation: 'approve', body: { digest: 'beef' }, asked: ['', 'beef'] },
  { operation: 'accept-history', body: { commit: 'c0ffee' }, asked: ['', 'c0ffee'] },
  { operation: 'suspend', body: {}, asked: ['', { instance: null, until: null }] },
  { operation: 'suspend', body: { instance: 'shop' }, asked: ['', { instance: 'shop', until: null }] },
  { operation: 'suspend', body: { until: TIME }, asked: ['', { instance: null, until: TIME }] },
  { operation: 'suspend', body: { instance: 'shop', until: TIME }, asked: ['', { instance: 'shop', until: TIME }] },
  { operation: 'acknowledge', body: { instance: 'shop', until: TIME }, asked: ['', { instance: 'shop', until: TIME }] },
  { operation: 'acknowledge', body: { instance: 'shop', end: true }, asked: ['', { instance: 'shop', until: null }] },
  { operation: 'resume', body: {}, asked: ['', null] },
  { operation: 'resume', body: { instance: 'shop' }, asked: ['', 'shop'] },
  { operation: 'resume', body: { recovery: 'r1' }, asked: ['', 'r1', false] },
  { operation: 'resume', body: { recovery: 'r1', force: true }, asked: ['', 'r1', true] },
  { operation: 'retry', body: { instance: 'shop' }, asked: ['', { instance: 'shop' }] },
  { operation: 'retry', body: { resource: 'shop-web' }, asked: ['', { resource: 'shop-web' }] },
  { operation: 'retry', body: { provider: 'lab' }, asked: ['', { provider: 'lab' }] },
  { operation: 'retry', body: { all: true }, asked: ['', { all: true }] },
  { operation: 'adopt', body: { instance: 'shop' }, asked: ['', { instance: 'shop' }] },
  { operation: 'adopt', body: { resource: 'shop-web' }, asked: ['', { resource: 'shop-web' }] },
  { operation: 'adopt', body: { provider: 'lab' }, asked: ['', { provider: 'lab' }] },
  { operation: 'adopt', body: { all: true }, asked: ['', { all: true }] },
  { operation: 'retain', body: { resource: 'shop-web' }, asked: ['', 'shop-web'] },
  { operation: 'replace', body: { resource: 'shop-web' }, asked: ['', 'shop-web'] },
  { operation: 'check', body: { instance: 'shop' }, asked: ['', { instance: 'shop' }] },
  { operation: 'check', body: { resource: 'shop-web' }, asked: ['', { resource: 'shop-web' }] },
];

describe.each(ROWS)('POST /operations/$operation $body', ({ operation, body, asked }) => {
  test('calls the operator, and answers the envelope', async () => {
    for (const end of ['', '/']) {
      const reply = await post(`${operation}${end}`, body);
      expect({ status: reply.status, body: reply.body }).toEqual({
        status: 200,
        body: { message: 'so it is', return_code: 200 },
      });
      expect(reply.headers).toMatchObject({
        'content-type': 'application/json; charset=utf-8',
        'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      });
      expect(reply.headers).not.toHaveProperty('etag');
    }
    expect(api.operator.asked).toEqual([
      [operation, ...asked],
      [operation, ...asked],
    ]);
  });

  test('accepts a reason, but no dry run', async () => {
    const [, ...rest] = asked;
    const reason = 'a sale'.padEnd(1_000, '!');
    expect((await post(operation, { ...body, reason })).status).toBe(200);
    const long = { ...body, reason: `${reason}!` };
    expect(await post(operation, long)).toMatchObject({ status: 400, body: { details: [{ pointer: '/reason' }] } });
    const reply = await post(`${operation}?dry_run=true`, body);
    expect({ status: reply.status, body: reply.body }).toEqual(
      invalid('This route has no query parameter "dry_run"; it has none'),
    );
    expect(api.operator.asked).toEqual([[operation, reason, ...rest]]);
  });
});

describe('fields of an operation', () => {
  const one = 'Name exactly one of "instance", "resource", "provider", or "all": true';
  const time = '"until" has to be a time such as 2026-11-20T10:13:56Z';
  const noField = (name: string, fields: string): string =>
    `There is no field "${name}"; the fields are ${fields}, reason`;
  const TARGETS = 'instance, resource, provider, all';

  test.each<[operation: string, body: JsonMap, message: string, pointer: string | null]>([
    ['approve', {}, '"digest" is missing', '/digest'],
    ['approve', { digest: '' }, '"digest" is missing', '/digest'],
    ['approve', { digest: 1 }, '"digest" has to be a string', '/digest'],
    ['approve', { digst: 'beef' }, 'There is no field "digst"; did you mean "digest"?', '/digst'],
    ['approve', { digest: 'beef', all: true }, noField('all', 'digest'), '/all'],
    ['approve', { digest: 'beef', reason: ['x'] }, '"reason" has to be a string of at most 1000 characters', '/reason'],
    ['accept-history', {}, '"commit" is missing', '/commit'],
    ['acknowledge', { instance: 'shop' }, 'Name exactly one of "until", or "end": true', null],
    ['suspend', { instance: null }, '"instance" has to be a string', '/instance'],
    ['suspend', { until: 5 }, time, '/until'],
    ['suspend', { until: 'tomorrow' }, time, '/until'],
    ['suspend', { until: '2026-11-20T18:00:00' }, time, '/until'],
    ['suspend', { until: '2026-11-20T25:00:00Z' }, time, '/until'],
    ['suspend', { resource: 'x' }, noField('resource', 'instance, until'), '/resource'],
    ['resume', { until: TIME }, noField('until', 'instance, recovery, force'), '/until'],
    ['resume', { force: true }, 'Name either "instance", or "recovery", which may have "force"', null],
    ['retry', {}, one, null],
    ['retry', { instance: 'a', resource: 'b' }, one, null],
    ['retry', { provider: 'a', all: true }, one, null],
    ['retry', { all: false }, '"all" has to be true', '/all'],
    ['retry', { server: 'x' }, `${noField('server', TARGETS)}, ignoreOrder`, '/server'],
    ['retry', { instance: 'a', ignoreOrder: true }, '"ignoreOrder" requires "resource"', null],
    ['retain', {}, '"resource" is missing', '/resource'],
    ['replace', { resource: '' }, '"resource" is missing', '/resource'],
    ['replace', { all: true }, noField('all', 'resource'), '/all'],
    ['check', {}, 'Name exactly one of "instance", "resource"', null],
    ['check', { all: true }, noField('all', 'instance, resource'), '/all'],
    ['adopt', { instance: 'a', all: true }, one, null],
    ['adopt', { 'a/b~c': 1 }, noField('a/b~c', TARGETS), '/a~1b~0c'],
  ])('%s %j', async (operation, body, message, pointer) => {
    const { status, body: answer } = await post(operation, body);
    const text = message.endsWith(' is missing') ? 'is missing' : message;
    expect({ status, body: answer }).toEqual(invalid(message, pointer === null ? [] : [[pointer, text]]));
    expect(api.operator.asked).toEqual([]);
  });

  test.each(['Z', '+02:00', '-11:30', '.5Z', '.123456+00:00'])('a time may end in %s', async (zone) => {
    const until = `2026-11-20T18:00:00${zone}`;
    expect((await post('suspend', { until })).status).toBe(200);
    expect(api.operator.asked).toEqual([['suspend', '', { instance: null, until }]]);
  });

  test('that are wrong are all reported', async () => {
    const { status, body } = await post('retry', { all: 1, x: 2, instance: [] });
    expect({ status, body }).toEqual(
      invalid('"all" has to be true', [
        ['/all', '"all" has to be true'],
        ['/x', 'There is no field "x"; the fields are instance, resource, provider, all, reason, ignoreOrder'],
        ['/instance', '"instance" has to be a string'],
      ]),
    );
  });

  test('that are wrong in thousands are reported up to a limit', async () => {
    const fields = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, 1]));
    const { status, body } = await post('retry', fields);
    expect(status).toBe(400);
    expect(JSON.stringify(body).length).toBeLessThan(5_000);
  });

  test('that every JavaScript object has are unknown', async () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const { status, body } = await post('suspend', {}, { body: `{ "${name}": { "instance": "shop" } }` });
      const message = `There is no field "${name}"; the fields are instance, until, reason`;
      expect({ status, body }).toEqual(invalid(message, [[`/${name}`, message]]));
    }
  });
});

test.each(['/operations', '/operations/aprove', '/operations/Approve', '/operations/held/x'])(
  '%s is 404',
  async (path) => {
    const { status, body } = await api.request(path, { method: 'POST', headers: JSON_TYPE, body: '{}' });
    expect({ status, body }).toMatchObject({ status: 404, body: { return_code: 404, error: 'not_found' } });
  },
);
