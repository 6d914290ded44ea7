// What a body may be, for every route that takes one: its type, encoding, size, and the JSON in it.
import { once } from 'node:events';
import { connect } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Ask } from '../support/https-client.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

const JSON_TYPE = { 'Content-Type': 'application/json' };
const MIB = 1024 * 1024;
const NO_JSON = 'The body has to be JSON, with Content-Type: application/json';
const NO_OBJECT = 'The body has to be a JSON object';
const NO_BODY = 'The body is missing: send a JSON object, {} if it has no fields';
const NO_UTF8 = 'The body is not UTF-8: it has to be JSON in UTF-8';
const NOT_JSON = expect.stringMatching(/^The body is not JSON: /);
const LATIN_1 = expect.stringMatching(/^The charset "latin1" is not read/);
const TOO_LARGE = 'The body is larger than 1 MiB';
const LARGE = JSON.stringify({ name: 'x'.repeat(MIB) });
const DEEP = 'The body: it is nested more than 64 levels deep';
const MANY = 'The body: it has more than 50000 keys and values, the limit of a file; send fewer';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());
beforeEach(() => {
  for (const { asked } of [api.writer, api.operator, api.agent]) asked.length = 0;
});

async function post(body: string | Uint8Array | undefined, headers: Record<string, string> = {}, path = '/types/zone') {
  const identity = path.startsWith('/agent') ? api.identities.proxy : api.identities.administrator;
  const ask: Ask = {
    method: 'POST',
    identity,
    headers: { ...JSON_TYPE, ...headers },
    ...(body === undefined ? {} : { body }),
  };
  return await api.request(path, ask);
}

function packed(text: string): Uint8Array {
  return gzipSync(text);
}

const GZIP = { 'Content-Encoding': 'gzip' };
const CHUNKED = { 'Transfer-Encoding': 'chunked' };

describe('a body', () => {
  test.each<[string, string | Uint8Array | undefined, Record<string, string>, number, unknown]>([
    ['of another type', '{}', { 'Content-Type': 'text/plain' }, 415, NO_JSON],
    ['of a form', 'a=1', { 'Content-Type': 'application/x-www-form-urlencoded' }, 415, NO_JSON],
    ['of a type with the same beginning', '{}', { 'Content-Type': 'application/jsonp' }, 415, NO_JSON],
    ['without a type', '{}', { 'Content-Type': '' }, 415, NO_JSON],
    ['in Latin-1', '{}', { 'Content-Type': 'application/json; charset=latin1' }, 415, LATIN_1],
    ['in Brotli', '{}', { 'Content-Encoding': 'br' }, 415, expect.stringContaining('"br" is not supported')],
    ['in deflate', '{}', { 'Content-Encoding': 'deflate' }, 415, expect.stringContaining('"deflate" is not supported')],
    ['that is missing', undefined, {}, 400, NO_BODY],
    ['without chunks', '', CHUNKED, 400, NO_BODY],
    ['that is not gzip as declared', '{"name":"z1"} and more', GZIP, 400, 'The body is not valid gzip'],
    ['with half of a character', Buffer.from('{"name":"z\xc3"}', 'latin1'), {}, 400, NO_UTF8],
    ['of another syntax', "{'a': 1}", {}, 400, NOT_JSON],
    ['of two objects', '{} {}', {}, 400, NOT_JSON],
    ['of closing brackets', `{"a":${']'.repeat(1_000_000)}}`, {}, 400, NOT_JSON],
    ['of a text without an end', `{"a":"${'\\"'.repeat(500_000)}\\`, {}, 400, NOT_JSON],
    ['that is a list', '[{}]', {}, 400, NO_OBJECT],
    ['that is null', 'null', {}, 400, NO_OBJECT],
    ['that is nested deeply', packed(`${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`), GZIP, 400, DEEP],
    ['of many values', packed(`{"lease":[${'0,'.repeat(500_000)}0]}`), GZIP, 400, MANY],
    // Refused before it is parsed, which takes long: it is no JSON.
    ['that is nested deeply, without an end', '['.repeat(500_000), {}, 400, DEEP],
    ['of many values, without an end', `[${'0,'.repeat(500_000)}`, {}, 400, MANY],
    ['of more than 1 MiB', LARGE, {}, 413, TOO_LARGE],
    ['of more than 1 MiB in chunks', LARGE, CHUNKED, 413, TOO_LARGE],
    ['of more than 1 MiB once unpacked', packed(' '.repeat(2 * MIB)), GZIP, 413, TOO_LARGE],
  ])('%s is refused', async (_what, body, headers, status, message) => {
    const reply = await post(body, headers);
    const error = { 400: 'invalid_input', 413: 'body_too_large', 415: 'unsupported_media_type' }[status];
    expect({ status: reply.status, body: reply.body }).toMatchObject({
      status,
      body: { message, return_code: status, error },
    });
    expect(reply.bytes.length).toBeLessThan(5_000);
    for (const { asked } of [api.writer, api.operator, api.agent]) expect(asked).toEqual([]);
  });
});

test('a body that is too large is refused before it is complete', async () => {
  const socket = connect({ host: '127.0.0.1', ...api.server, ...api.identities.administrator });
  socket.write('POST /types/zone HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n');
  socket.write(`Content-Length: ${9 * MIB}\r\n\r\n${'x'.repeat(MIB + 1)}`);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 413 /);
});

test.each(['/operations/retry', '/agent/actions/x/heartbeat'])('POST %s reads bodies in the same way', async (path) => {
  expect(await post('{} {}', {}, path)).toMatchObject({ status: 400, body: { error: 'invalid_input' } });
  expect(await post('{}', { 'Content-Type': 'text/plain' }, path)).toMatchObject({ status: 415 });
});

test.each([
  ['{"name":"z1","limits":["\\"[{",12345678901234567890]}', '12345678901234567890 of "1"'],
  ['{"name":"z1","limit":-1e999}', '-1e999 of "limit"'],
  [`{"name":"z1","${'x'.repeat(300_000)}":${'9'.repeat(100_000)}}`, `${'9'.repeat(40)}… of "${'x'.repeat(40)}…"`],
])('a number that cannot be kept exactly is refused with a short message', async (body, number) => {
  const message = expect.stringMatching(`^The body: the number ${number} is too large to be kept exactly; to keep it`);
  expect(await post(body)).toMatchObject({ status: 400, body: { message, error: 'invalid_input' } });
});

test.each<[headers: Record<string, string>, body: string | Uint8Array]>([
  [{ 'Content-Type': 'application/json; charset=utf-8' }, '{"name":"zwölf"}'],
  [{ 'Content-Type': 'application/json;charset="UTF8"' }, '{"name":"zwölf"}'],
  [GZIP, packed('{"name":"zwölf"}')],
  [{ 'Content-Encoding': 'X-GZIP' }, packed('{"name":"zwölf"}')],
  [CHUNKED, '{"name":"zwölf"}'],
  // Of a key that stands twice, the last value counts.
  [{}, '{"name":"eins","name":"zwölf"}'],
])('a body with %j is read', async (headers, body) => {
  expect((await post(body, headers)).status).toBe(201);
  expect(api.writer.asked).toEqual([['putObject', 'zone', { name: 'zwölf' }, false]]);
});

test.each([
  { name: 'z1', a: { name: 1, b: [{ name: 2 }, { name: -0.5e-3 }] }, c: '"name": 1, "name": 2', d: [9007199254740991] },
  { name: 'x'.repeat(MIB - '{"name":""}'.length) },
  JSON.parse(`{"name":"z1","a":${'['.repeat(63)}${']'.repeat(63)}}`),
])('a body within the limits is read unchanged', async (body) => {
  expect((await post(JSON.stringify(body))).status).toBe(201);
  expect(api.writer.asked).toEqual([['putObject', 'zone', body, false]]);
});

test('a DELETE needs no body', async () => {
  for (const body of [undefined, '{"any":"thing"}']) {
    const ask = { method: 'DELETE', headers: JSON_TYPE, ...(body === undefined ? {} : { body }) };
    expect((await api.request('/types/zone/z1', ask)).status).toBe(200);
  }
});

test('"__proto__" in a body is a plain key', async () => {
  await post('{"name":"z1","__proto__":{"force":true},"constructor":1}');
  const [, , body] = api.writer.asked[0] ?? [];
  expect(Object.keys(Object(body))).toEqual(['name', '__proto__', 'constructor']);
  expect(Object.hasOwn(Object(body), 'force')).toBe(false);
  expect(Object.getPrototypeOf({}).force).toBeUndefined();
});
