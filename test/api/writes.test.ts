// Every row of the interface that writes: what it asks of the writer, and how its outcome is answered.
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { ServiceError, type ServiceErrorCode } from '../../src/model/service-error.ts';
import type { Ask, Reply } from '../support/https-client.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const COMMITTED = { commit: 'c'.repeat(40), branch: null };
const JSON_TYPE = { 'Content-Type': 'application/json' };

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());
beforeEach(() => {
  api.writer.asked.length = 0;
  api.writer.orders.length = 0;
  api.writer.outcome = COMMITTED;
});

function send(method: string, path: string, body?: unknown, ask: Ask = {}): Promise<Reply> {
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  return api.request(path, { method, ...sent, ...ask, headers: { ...JSON_TYPE, ...ask.headers } });
}

function refused(code: string, status: number, message: unknown = expect.any(String)) {
  return { status, body: { message, return_code: status, error: code } };
}

type Row = readonly [
  method: string,
  path: string,
  body: JsonMap | undefined,
  asked: unknown[],
  status: number,
  message: string,
];

const INSTANCE = { stackTemplate: 'web', parameters: { zone: 'z1' } };
const ROWS: readonly Row[] = [
  ['POST', '/stacks/instances/blog', INSTANCE, ['putInstance', 'blog', INSTANCE, false], 201, 'Created'],
  ['POST', '/stacks/instances/blog?force=true', INSTANCE, ['putInstance', 'blog', INSTANCE, true], 201, 'Created'],
  ['POST', '/stacks/instances/blog?force=false', INSTANCE, ['putInstance', 'blog', INSTANCE, false], 201, 'Created'],
  ['POST', '/stacks/instances/blog', { force: true }, ['putInstance', 'blog', { force: true }, true], 201, 'Created'],
  [
    'POST',
    '/stacks/instances/blog',
    { force: false },
    ['putInstance', 'blog', { force: false }, false],
    201,
    'Created',
  ],
  [
    'DELETE',
    '/stacks/instances/blog',
    undefined,
    ['deleteInstance', 'blog'],
    202,
    'Stack instance blog is marked for delete',
  ],
  ['POST', '/stacks/templates', { name: 'blog' }, ['createInstance', { name: 'blog' }, false], 201, 'Created'],
  [
    'POST',
    '/stacks/templates?force=true',
    { name: 'blog' },
    ['createInstance', { name: 'blog' }, true],
    201,
    'Created',
  ],
  [
    'POST',
    '/stacks/templates',
    { name: 'blog', force: true },
    ['createInstance', { name: 'blog', force: true }, true],
    201,
    'Created',
  ],
  ['POST', '/clients', { serial: 'C3' }, ['putClient', { serial: 'C3' }], 201, 'Created'],
  ['DELETE', '/clients/c:3', undefined, ['deleteClient', 'c:3'], 202, 'Client c:3 is marked for delete'],
  ['DELETE', '/clients?serial=C3', undefined, ['deleteClient', 'C3'], 202, 'Client C3 is marked for delete'],
  [
    'POST',
    '/types/zone',
    { name: 'z2', description: 'Two' },
    ['putObject', 'zone', { name: 'z2', description: 'Two' }, false],
    201,
    'Created',
  ],
  [
    'POST',
    '/types/role',
    { name: 'r', force: 'majeure' },
    ['putObject', 'role', { name: 'r', force: 'majeure' }, false],
    201,
    'Created',
  ],
  [
    'POST',
    '/types/stack-template',
    { name: 't' },
    ['putObject', 'stack-template', { name: 't' }, false],
    201,
    'Created',
  ],
  [
    'POST',
    '/types/stack-instance',
    { name: 'blog', force: true },
    ['putObject', 'stack-instance', { name: 'blog', force: true }, true],
    201,
    'Created',
  ],
  ['DELETE', '/types/zone/z1', undefined, ['deleteObject', 'zone', 'z1'], 200, 'Document z1 of type zone was removed'],
  [
    'DELETE',
    '/types/stack-instance/blog',
    undefined,
    ['deleteObject', 'stack-instance', 'blog'],
    202,
    'Stack instance blog is marked for delete',
  ],
  ['POST', '/tree', { name: 'base', type: 'common' }, ['putTree', { name: 'base', type: 'common' }], 201, 'Created'],
];

describe.each(ROWS.map((row) => ({ title: `${row[0]} ${row[1]}`, row })))('$title', ({ row }) => {
  const [method, path, body, asked, status, message] = row;

  test.each([path, path.replace(/(\?|$)/, '/$1')])('as %s', async (spelling) => {
    const reply = await send(method, spelling, body);
    expect({ status: reply.status, body: reply.body }).toEqual({ status, body: { message, return_code: status } });
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(api.writer.asked).toEqual([asked]);
    const [order] = api.writer.orders;
    expect(order?.by.serial).toBe(api.identities.administrator.serial);
    expect(reply.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(order?.requestId).toBe(reply.headers['x-request-id']);
    expect(order?.ifMatch).toBeUndefined();
  });

  test('names the branch where it is only proposed', async () => {
    api.writer.outcome = { commit: 'd'.repeat(40), branch: 'treeline/zone-z2-0a1b2c3d' };
    const reply = await send(method, path, body);
    expect({ status: reply.status, body: reply.body }).toEqual({
      status: 202,
      body: {
        message: 'Proposed on the branch treeline/zone-z2-0a1b2c3d; it takes effect when that is merged',
        return_code: 202,
      },
    });
  });

  test('tries it with dry_run=true, and answers what it would do', async () => {
    const servers = [{ server: 'blog-1', instance: 'blog', change: 'created' }] as const;
    api.writer.outcome = { commit: null, branch: null, preview: { diff: '+x\n', servers } };
    const reply = await send(method, `${path}${path.includes('?') ? '&' : '?'}dry_run=true`, body);
    expect({ status: reply.status, body: reply.body }).toEqual({
      status: 200,
      body: { message: 'Dry run: nothing was written', return_code: 200, dry_run: true, diff: '+x\n', servers },
    });
    expect(api.writer.asked).toEqual([asked]);
    expect(api.writer.orders.map(({ isDryRun }) => isDryRun)).toEqual([true]);
  });

  test('tries nothing where dry_run is neither true nor false', async () => {
    const reply = await send(method, `${path}${path.includes('?') ? '&' : '?'}dry_run=1`, body);
    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_input' } });
    expect(api.writer.asked).toEqual([]);
  });

  test('is done where there was nothing to change', async () => {
    api.writer.outcome = { commit: null, branch: null };
    expect(await send(method, path, body)).toMatchObject({ status, body: { message, return_code: status } });
  });
});

describe('what the writer refuses', () => {
  const details = [
    { file: 'stacks/instances/blog.yaml', line: 2, column: 3, pointer: '/stackTemplate', message: 'why' },
  ];

  test.each<[ServiceErrorCode, number, string | undefined]>([
    ['invalid_input', 400, undefined],
    ['not_allowed', 403, undefined],
    ['not_found', 404, undefined],
    ['conflict', 409, undefined],
    ['edit_by_hand', 409, undefined],
    ['push_refused', 409, undefined],
    ['precondition_failed', 412, undefined],
    ['breaks_others', 422, undefined],
    ['too_many_requests', 429, '5'],
    ['not_ready', 503, '5'],
    ['outcome_unknown', 503, undefined],
  ])('%s is %i', async (code, status, retryAfter) => {
    api.writer.outcome = new ServiceError(code, 'in these words', details);
    const reply = await send('POST', '/types/zone', { name: 'z2' });
    expect({ status: reply.status, body: reply.body }).toEqual({
      status,
      body: { message: 'in these words', return_code: status, error: code, details },
    });
    expect(reply.headers['retry-after']).toBe(retryAfter);
    expect(reply.headers['x-request-id']).toBe(api.writer.orders[0]?.requestId);
  });

  test('what nobody expected is a mistake of Treeline, under the id that the commit may carry', async () => {
    api.writer.outcome = new Error('the wire is cut');
    const { status, body, headers } = await send('POST', '/types/zone', { name: 'z2' });
    expect({ status, body }).toEqual(
      refused('internal', 500, expect.stringContaining(String(headers['x-request-id']))),
    );
  });
});

describe('If-Match', () => {
  const oid = '0a'.repeat(20);
  const other = '0b'.repeat(20);

  test.each<[string, readonly string[]]>([
    ['*', ['*']],
    [' * ', ['*']],
    [`"${oid}.WlRk"`, [oid]],
    [`"${oid}"`, [oid]],
    [`W/"${oid}.WlRk"`, [oid]],
    [`"${oid}.a", W/"${other}.b" ,"${oid}.c"`, [oid, other, oid]],
    ['""', ['']],
    ['"*"', []],
    ['unquoted', []],
  ])('%j holds where the blob is one of %j', async (header, wanted) => {
    await send('POST', '/types/zone', { name: 'z1' }, { headers: { 'If-Match': header } });
    expect(api.writer.orders[0]?.ifMatch).toEqual(wanted);
  });

  test.each<[string, readonly string[]]>([
    ['*', ['*']],
    [`"${oid}.WlRk", W/"${other}.b"`, [oid, other]],
  ])('If-None-Match: %s of a write goes along', async (header, wanted) => {
    await send('POST', '/types/zone', { name: 'z1' }, { headers: { 'If-None-Match': header } });
    expect(api.writer.orders[0]).toMatchObject({ ifMatch: undefined, ifNoneMatch: wanted });
  });

  test('goes with a DELETE, too', async () => {
    await send('DELETE', '/stacks/instances/shop', undefined, { headers: { 'If-Match': `"${oid}.x"` } });
    expect(api.writer.orders[0]?.ifMatch).toEqual([oid]);
  });
});

test.each(['/stacks/instances/blog', '/stacks/templates', '/types/stack-instance'])(
  'POST %s refuses a force that the query and the body contradict',
  async (path) => {
    for (const force of [true, false]) {
      const body = { name: 'blog', stackTemplate: 'web', force };
      const reply = await send('POST', `${path}?force=${!force}`, body);
      const message = `"force" is ${force} in the body and ${!force} in the query: give one of them`;
      expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_input', message } });
      expect(api.writer.asked).toEqual([]);
      expect((await send('POST', `${path}?force=${force}`, body)).status).toBe(201);
      api.writer.asked.length = 0;
    }
  },
);

describe('force', () => {
  test.each<[string, JsonMap, unknown]>([
    ['/stacks/instances/blog?force=yes', {}, 'The query parameter force is true or false, not "yes"'],
    ['/stacks/instances/blog?force=', {}, 'The query parameter force is true or false, not ""'],
    ['/stacks/instances/blog?force=1', { force: true }, 'The query parameter force is true or false, not "1"'],
    ['/stacks/instances/blog?force=true&force=true', {}, 'The query parameter force is given more than once'],
    ['/stacks/templates?force=yes', { name: 'z1' }, 'The query parameter force is true or false, not "yes"'],
    ['/types/zone?force=yes', { name: 'z1' }, 'The query parameter force is true or false, not "yes"'],
  ])('%s is nonsense', async (path, body, message) => {
    const reply = await send('POST', path, body);
    expect({ status: reply.status, body: reply.body }).toEqual(refused('invalid_input', 400, message));
    expect(api.writer.asked).toEqual([]);
  });

  test.each(['/stacks/instances/blog', '/stacks/templates', '/types/stack-instance'])(
    'in the body of %s is true or false',
    async (path) => {
      for (const force of ['true', 'yes', 1, null, {}]) {
        const { status, body } = await send('POST', path, { name: 'blog', force });
        const details = [{ pointer: '/force', message: 'is true or false' }];
        expect({ status, body }).toEqual({
          status: 400,
          body: { message: '"force" is true or false', return_code: 400, error: 'invalid_input', details },
        });
      }
      expect(api.writer.asked).toEqual([]);
    },
  );
});

describe('a body', () => {
  const PATHS = ['/stacks/instances/blog', '/stacks/templates', '/clients', '/types/zone', '/tree'];
  const NO_OBJECT = 'The body has to be a JSON object';
  const NO_JSON = 'The body has to be JSON, with Content-Type: application/json';

  test.each(PATHS)('of POST %s is an object', async (path) => {
    for (const body of ['[]', '[{}]', '"text"', '7', 'true', 'null']) {
      const reply = await send('POST', path, body);
      expect([body, reply.status, reply.body]).toEqual([
        body,
        400,
        { message: NO_OBJECT, return_code: 400, error: 'invalid_input' },
      ]);
    }
  });

  test.each(PATHS)('of POST %s has to be there', async (path) => {
    for (const body of [undefined, '']) {
      const reply = await send('POST', path, body);
      expect({ status: reply.status, body: reply.body }).toMatchObject({
        status: 400,
        body: { error: 'invalid_input' },
      });
    }
    expect(api.writer.asked).toEqual([]);
  });

  test.each(PATHS)('of POST %s that is no JSON is refused', async (path) => {
    for (const body of ['{', '{"a":}', 'name: z1', '{} {}', '\u0000', "{'a': 1}", '{"a": NaN}']) {
      const reply = await send('POST', path, body);
      expect({ status: reply.status, body: reply.body }).toEqual(refused('invalid_input', 400));
    }
  });

  test.each([
    [{ 'Content-Type': 'text/plain' }, NO_JSON],
    [{ 'Content-Type': 'application/x-www-form-urlencoded' }, NO_JSON],
    [{ 'Content-Type': 'application/yaml' }, NO_JSON],
    [{ 'Content-Type': '' }, NO_JSON],
    [{ 'Content-Type': 'application/json; charset=latin1' }, 'The charset "latin1" is not read; send JSON in UTF-8'],
    [{ 'Content-Encoding': 'zip' }, 'The content encoding "zip" is not known; send the body with "gzip", or as it is'],
  ])('with %j is of a kind that is not read', async (headers, message) => {
    const reply = await send('POST', '/types/zone', '{"name":"z2"}', { headers });
    expect({ status: reply.status, body: reply.body }).toEqual(refused('unsupported_media_type', 415, message));
  });

  test.each<[string, string | Uint8Array, string, unknown?]>([
    [
      'bytes that are no UTF-8',
      Buffer.from('{"name":"zw\xf6lf"}', 'latin1'),
      'The body is not UTF-8: it has to be JSON in UTF-8',
    ],
    [
      'half of a character',
      Buffer.from('{"name":"z\xc3"}', 'latin1'),
      'The body is not UTF-8: it has to be JSON in UTF-8',
    ],
    [
      'a number that is not kept',
      '{"name":"z1","limits":["\\"[{",12345678901234567890]}',
      'The body: the number 12345678901234567890 of "1" is too large to be kept exactly; to keep it as written, put it in quotes: "12345678901234567890"',
    ],
    [
      'a number that is none',
      '{"name":"z1","limit":-1e999}',
      'The body: the number -1e999 of "limit" is too large to be kept exactly; to keep it as written, put it in quotes: "-1e999"',
    ],
    ['no JSON', '{"name":}', 'The body is not JSON: Unexpected token \'}\', "{"name":}" is not valid JSON'],
  ])('with %s is refused', async (_what, body, message) => {
    const reply = await api.request('/types/zone', { method: 'POST', headers: JSON_TYPE, body });
    expect(reply).toMatchObject({ status: 400, body: { message, return_code: 400, error: 'invalid_input' } });
    expect(api.writer.asked).toEqual([]);
  });

  const DEEP = 'The body: it has more than 64 objects and lists inside one another';
  const MANY = 'The body: it has more than 50000 keys and values, as no file may; send fewer';
  test.each<[string, string, string]>([
    ['lists inside one another', `{"lease":${'['.repeat(500_000)}${']'.repeat(500_000)}}`, DEEP],
    ['objects inside one another', `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`, DEEP],
    ['values', `{"lease":[${'0,'.repeat(500_000)}0]}`, MANY],
    ['words', `{"lease":[${'null,'.repeat(200_000)}0]}`, MANY],
  ])('of too many %s is refused, packed or not', async (_what, body, message) => {
    for (const [path, identity] of [
      ['/types/zone', api.identities.administrator],
      ['/operations/retry', api.identities['automation-endpoint']],
      ['/agent/actions/x/heartbeat', api.identities.proxy],
    ] as const) {
      for (const encoding of [{}, { 'Content-Encoding': 'gzip' }]) {
        const sent = 'Content-Encoding' in encoding ? gzipSync(body) : body;
        const headers = { ...JSON_TYPE, ...encoding };
        const reply = await api.request(path, { method: 'POST', identity, headers, body: sent });
        expect({ status: reply.status, body: reply.body }).toMatchObject(refused('invalid_input', 400, message));
      }
    }
  });

  test.each<[string, string]>([
    ['closing brackets', `{"a":${']'.repeat(1_000_000)}}`],
    ['a text without an end', `{"a":"${'\\"'.repeat(500_000)}\\`],
  ])('of %s is no JSON', async (_what, body) => {
    const reply = await send('POST', '/types/zone', body);
    expect({ status: reply.status, body: reply.body }).toEqual(refused('invalid_input', 400));
    expect(String((reply.body as { message: string }).message)).toMatch(/^The body is not JSON: /);
  });

  test('with 64 objects and lists inside one another is read', async () => {
    const body = JSON.parse(`{"name":"z1","a":${'['.repeat(63)}${']'.repeat(63)}}`);
    expect((await send('POST', '/types/zone', body)).status).toBe(201);
  });

  test('of a key that stands twice has the last value', async () => {
    const body = '{"name":"z1","description":"a","description":"b"}';
    expect((await api.request('/types/zone', { method: 'POST', headers: JSON_TYPE, body })).status).toBe(201);
    expect(JSON.stringify(api.writer.asked)).toContain('"description":"b"');
  });

  test('with a long number below a long key is refused in few words', async () => {
    const body = `{"name":"z1","${'x'.repeat(300_000)}":${'9'.repeat(100_000)}}`;
    const reply = await api.request('/types/zone', { method: 'POST', headers: JSON_TYPE, body });
    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_input' } });
    expect(reply.bytes.length).toBeLessThan(5_000);
  });

  test('that is said to be gzip and is not, is refused', async () => {
    const encoding = 'gzip';
    const headers = { ...JSON_TYPE, 'Content-Encoding': encoding };
    const reply = await api.request('/types/zone', { method: 'POST', headers, body: '{"name":"z1"} and more' });
    expect(reply).toMatchObject({ status: 400, body: { message: `The body is not valid ${encoding}` } });
  });

  test('may hold the same key in different objects, and numbers that are kept', async () => {
    const body = {
      name: 'z1',
      a: { name: 1, b: [{ name: 2 }, { name: -0.5e-3 }] },
      c: '"name": 1, "name": 2',
      d: [9007199254740991],
    };
    await send('POST', '/types/zone', body);
    expect(api.writer.asked).toEqual([['putObject', 'zone', body, false]]);
  });

  test.each([
    [{ 'Content-Type': 'application/json; charset=utf-8' }, '{"name":"zwölf"}'],
    [{ 'Content-Type': 'application/json;charset="UTF-8"' }, '{"name":"zwölf"}'],
    [{ 'Content-Type': 'application/json; charset=utf8' }, '{"name":"zwölf"}'],
    [{ 'Content-Type': 'application/json; charset="UTF8"' }, '{"name":"zwölf"}'],
    [{ 'Content-Encoding': 'x-gzip' }, gzipSync('{"name":"zwölf"}')],
    [{ 'Content-Encoding': 'X-GZIP' }, gzipSync('{"name":"zwölf"}')],
    [{ 'Transfer-Encoding': 'chunked' }, '{"name":"zwölf"}'],
    [{ 'Content-Encoding': 'gzip' }, gzipSync('{"name":"zwölf"}')],
  ])('with %j is read', async (headers, body) => {
    await api.request('/types/zone', { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body });
    expect(api.writer.asked).toEqual([['putObject', 'zone', { name: 'zwölf' }, false]]);
  });

  test.each<[string, Ask]>([
    ['by its length', { body: JSON.stringify({ name: 'x'.repeat(1024 * 1024) }) }],
    [
      'in chunks',
      { body: JSON.stringify({ name: 'x'.repeat(1024 * 1024) }), headers: { 'Transfer-Encoding': 'chunked' } },
    ],
    ['once unpacked', { body: gzipSync(' '.repeat(2 * 1024 * 1024)), headers: { 'Content-Encoding': 'gzip' } }],
  ])('of more than 1 MiB is refused: %s', async (_how, ask) => {
    const reply = await api.request('/types/zone', {
      method: 'POST',
      ...ask,
      headers: { ...JSON_TYPE, ...ask.headers },
    });
    expect({ status: reply.status, body: reply.body }).toEqual(
      refused('body_too_large', 413, 'The body is larger than 1 MiB'),
    );
    expect(api.writer.asked).toEqual([]);
  });

  test('of 1 MiB is read', async () => {
    const name = 'x'.repeat(1024 * 1024 - '{"name":""}'.length);
    expect((await send('POST', '/types/zone', { name })).status).toBe(201);
  });

  test('of a DELETE is not needed, and not looked at', async () => {
    expect((await send('DELETE', '/types/zone/z1', { any: 'thing' })).status).toBe(200);
    expect((await api.request('/types/zone/z1', { method: 'DELETE' })).status).toBe(200);
    expect(api.writer.asked).toEqual([
      ['deleteObject', 'zone', 'z1'],
      ['deleteObject', 'zone', 'z1'],
    ]);
  });

  test('may hold keys that reach for a prototype: they are plain keys', async () => {
    await send('POST', '/types/zone', '{"name":"z1","__proto__":{"force":true},"constructor":1}');
    const [, , body] = api.writer.asked[0] ?? [];
    expect(Object.keys(Object(body))).toEqual(['name', '__proto__', 'constructor']);
    expect(Object.hasOwn(Object(body), 'force')).toBe(false);
    expect(Object.getPrototypeOf({}).force).toBeUndefined();
  });
});

describe('DELETE /clients', () => {
  test.each<[string, unknown]>([
    ['/clients', 'Name the client: /clients/<serial>, or ?serial=<serial>'],
    ['/clients?serial=', 'Name the client: /clients/<serial>, or ?serial=<serial>'],
    ['/clients?serial=A1&serial=B2', 'The query parameter serial is given more than once'],
  ])('%s names no client', async (path, message) => {
    const reply = await send('DELETE', path);
    expect({ status: reply.status, body: reply.body }).toEqual(refused('invalid_input', 400, message));
  });
});

describe('types that are not written', () => {
  test.each([
    ['POST', '/types/all'],
    ['DELETE', '/types/all/z1'],
  ])('%s %s', async (method, path) => {
    const reply = await send(method, path, { name: 'z1' });
    expect({ status: reply.status, body: reply.body }).toEqual(refused('method_not_allowed', 405));
    expect(reply.headers.allow).toBe('GET, HEAD');
  });

  test.each([
    ['POST', '/types/zones', 'There is no type "zones"; did you mean "zone"?'],
    ['DELETE', '/types/zones/z1', 'There is no type "zones"; did you mean "zone"?'],
    ['POST', '/types/client', expect.stringMatching(/^There is no type "client"; /)],
    ['POST', '/types/hierarchy', expect.stringMatching(/^There is no type "hierarchy"; /)],
  ])('%s %s', async (method, path, message) => {
    const reply = await send(method, path, { name: 'z1' });
    expect({ status: reply.status, body: reply.body }).toEqual(refused('not_found', 404, message));
    expect(api.writer.asked).toEqual([]);
  });
});

test('rights are looked at before the body', async () => {
  const identity = api.identities.proxy;
  const reply = await send('POST', '/types/zone', '{', { identity });
  expect({ status: reply.status, body: reply.body }).toEqual(
    refused('not_allowed', 403, 'The role proxy may not write types; that is for administrator'),
  );
});
