// Every row of the interface that writes: what it asks of the writer, and how its outcome is answered.
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
  answer?: readonly [status: number, message: string],
];

const INSTANCE = { stackTemplate: 'web', parameters: { zone: 'z1' } };
const [FORCED, UNFORCED] = [{ force: true }, { force: false }];
const NAMED = { name: 'blog' };
const Z2 = { name: 'z2', description: 'Two' };
const MAJEURE = { name: 'r', force: 'majeure' };
const MARKED = [202, 'Stack instance blog is marked for delete'] as const;
const CLIENT_MARKED = (serial: string) => [202, `Client ${serial} is marked for delete`] as const;
const ROWS: readonly Row[] = [
  ['POST', '/stacks/instances/blog', INSTANCE, ['putInstance', 'blog', INSTANCE, false]],
  ['POST', '/stacks/instances/blog?force=true', INSTANCE, ['putInstance', 'blog', INSTANCE, true]],
  ['POST', '/stacks/instances/blog?force=false', INSTANCE, ['putInstance', 'blog', INSTANCE, false]],
  ['POST', '/stacks/instances/blog', FORCED, ['putInstance', 'blog', FORCED, true]],
  ['POST', '/stacks/instances/blog', UNFORCED, ['putInstance', 'blog', UNFORCED, false]],
  ['DELETE', '/stacks/instances/blog', undefined, ['deleteInstance', 'blog'], MARKED],
  ['POST', '/stacks/templates', NAMED, ['createInstance', NAMED, false]],
  ['POST', '/stacks/templates?force=true', NAMED, ['createInstance', NAMED, true]],
  ['POST', '/stacks/templates', { ...NAMED, ...FORCED }, ['createInstance', { ...NAMED, ...FORCED }, true]],
  ['POST', '/clients', { serial: 'C3' }, ['putClient', { serial: 'C3' }]],
  ['DELETE', '/clients/c:3', undefined, ['deleteClient', 'c:3'], CLIENT_MARKED('c:3')],
  ['DELETE', '/clients?serial=C3', undefined, ['deleteClient', 'C3'], CLIENT_MARKED('C3')],
  ['POST', '/types/zone', Z2, ['putObject', 'zone', Z2, false]],
  ['POST', '/types/role', MAJEURE, ['putObject', 'role', MAJEURE, false]],
  ['POST', '/types/stack-template', { name: 't' }, ['putObject', 'stack-template', { name: 't' }, false]],
  ['POST', '/types/stack-instance', FORCED, ['putObject', 'stack-instance', FORCED, true]],
  [
    'DELETE',
    '/types/zone/z1',
    undefined,
    ['deleteObject', 'zone', 'z1'],
    [200, 'Document z1 of type zone was removed'],
  ],
  ['DELETE', '/types/stack-instance/blog', undefined, ['deleteObject', 'stack-instance', 'blog'], MARKED],
  ['POST', '/tree', NAMED, ['putTree', NAMED]],
];

describe.each(ROWS.map((row) => ({ title: `${row[0]} ${row[1]}`, row })))('$title', ({ row }) => {
  const [method, path, body, asked, [status, message] = [201, 'Created']] = row;

  test.each([path, path.replace(/(\?|$)/, '/$1')])('as %s', async (spelling) => {
    const reply = await send(method, spelling, body);
    expect({ status: reply.status, body: reply.body }).toEqual({ status, body: { message, return_code: status } });
    expect(api.writer.asked).toEqual([asked]);
    const [order] = api.writer.orders;
    expect(order?.by.serial).toBe(api.identities.administrator.serial);
    expect(order?.requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(order?.requestId).toBe(reply.headers['x-request-id']);
    expect(order?.ifMatch).toBeUndefined();
  });

  test('names the branch of a proposal, and the effect of a dry run', async () => {
    const servers = [{ server: 'blog-1', instance: 'blog', change: 'created' }] as const;
    api.writer.outcome = { commit: null, branch: null, preview: { diff: '+x\n', servers } };
    const reply = await send(method, `${path}${path.includes('?') ? '&' : '?'}dry_run=true`, body);
    expect({ status: reply.status, body: reply.body }).toEqual({
      status: 200,
      body: { message: 'Dry run: nothing was written', return_code: 200, dry_run: true, diff: '+x\n', servers },
    });
    expect(api.writer.asked).toEqual([asked]);
    expect(api.writer.orders.map(({ isDryRun }) => isDryRun)).toEqual([true]);
    api.writer.outcome = { commit: 'd'.repeat(40), branch: 'treeline/zone-z2-0a1b2c3d' };
    const proposed = 'Proposed on the branch treeline/zone-z2-0a1b2c3d; it takes effect when the branch is merged';
    expect(await send(method, path, body)).toMatchObject({
      status: 202,
      body: { message: proposed, return_code: 202 },
    });
    api.writer.outcome = { commit: null, branch: null };
    expect(await send(method, path, body)).toMatchObject({ status, body: { message, return_code: status } });
  });
});

describe('a refusal of the writer', () => {
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

  test('an unexpected error is 500 with the request id of the commit', async () => {
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
  ])('%j matches if the blob is one of %j', async (header, wanted) => {
    await send('POST', '/types/zone', { name: 'z1' }, { headers: { 'If-Match': header } });
    expect(api.writer.orders[0]?.ifMatch).toEqual(wanted);
  });

  test('and If-None-Match are accepted by every method', async () => {
    const headers = { 'If-None-Match': `"${oid}.WlRk", W/"${other}.b"` };
    await send('DELETE', '/stacks/instances/shop', undefined, { headers });
    expect(api.writer.orders[0]).toMatchObject({ ifMatch: undefined, ifNoneMatch: [oid, other] });
  });
});

const NO_FLAG = 'The query parameter force is true or false, not';
const NO_BOOLEAN = '"force" is true or false';
const NO_CLIENT = 'Name the client: /clients/<serial>, or ?serial=<serial>';
const NO_ZONES = 'There is no type "zones"; did you mean "zone"?';
test.each<[status: 400 | 404, method: string, path: string, body: JsonMap, message: string]>([
  [400, 'POST', '/stacks/instances/blog?force=yes', {}, `${NO_FLAG} "yes"`],
  [400, 'POST', '/stacks/instances/blog?force=', {}, `${NO_FLAG} ""`],
  [400, 'POST', '/stacks/templates?force=true&force=true', NAMED, 'The query parameter force is given more than once'],
  [400, 'POST', '/types/zone?force=yes', NAMED, `${NO_FLAG} "yes"`],
  [400, 'POST', '/types/zone?dry_run=1', NAMED, 'The query parameter dry_run is true or false, not "1"'],
  [400, 'POST', '/stacks/instances/blog', { force: 'true' }, NO_BOOLEAN],
  [400, 'POST', '/stacks/templates', { name: 'blog', force: 1 }, NO_BOOLEAN],
  [400, 'POST', '/types/stack-instance', { name: 'blog', force: null }, NO_BOOLEAN],
  [
    ...([400, 'POST', '/stacks/templates?force=true', UNFORCED] as const),
    '"force" is false in the body and true in the query: give one of them',
  ],
  [
    ...([400, 'POST', '/types/stack-instance?force=false', FORCED] as const),
    '"force" is true in the body and false in the query: give one of them',
  ],
  [400, 'DELETE', '/clients', {}, NO_CLIENT],
  [400, 'DELETE', '/clients?serial=', {}, NO_CLIENT],
  [400, 'DELETE', '/clients?serial=A1&serial=B2', {}, 'The query parameter serial is given more than once'],
  [404, 'POST', '/types/zones', NAMED, NO_ZONES],
  [404, 'DELETE', '/types/zones/z1', {}, NO_ZONES],
  [404, 'POST', '/types/hierarchy', NAMED, 'There is no type "hierarchy"; GET /types lists all'],
  [404, 'POST', '/types/__proto__', NAMED, 'There is no type "__proto__"; GET /types lists all'],
])('%i: %s %s with %j', async (status, method, path, body, message) => {
  const error = status === 400 ? 'invalid_input' : 'not_found';
  expect(await send(method, path, body)).toMatchObject({ status, body: { message, return_code: status, error } });
  expect(api.writer.asked).toEqual([]);
});

test('rights are checked before the body', async () => {
  const identity = api.identities.proxy;
  const reply = await send('POST', '/types/zone', '{', { identity });
  expect({ status: reply.status, body: reply.body }).toEqual(
    refused('not_allowed', 403, 'The role proxy may not write types; that is for administrator'),
  );
});
