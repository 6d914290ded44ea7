import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { refuseBrokenRequest } from '../../src/api/broken-request.ts';

function errorWith(code: string, message = 'as Node says it'): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}

test.each([
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    '408 Request Timeout',
    'request_timeout',
    'The request did not arrive in time: its headers or its body took too long',
  ],
  [
    'HPE_HEADER_OVERFLOW',
    '431 Request Header Fields Too Large',
    'headers_too_large',
    'The request line and headers are larger than 8 KiB',
  ],
  [
    'HPE_CHUNK_EXTENSIONS_OVERFLOW',
    '413 Payload Too Large',
    'body_too_large',
    'The extensions of a chunk are larger than 16 KiB',
  ],
  [
    'HPE_INVALID_METHOD',
    '400 Bad Request',
    'invalid_input',
    'This is no HTTP request that can be read: as Node says it',
  ],
])('%s is answered %s', async (code, status, error, message) => {
  const socket = new PassThrough();
  refuseBrokenRequest(errorWith(code), socket);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual([
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    expect.stringMatching(/^X-Request-Id: [0-9a-f-]{36}$/),
    'Connection: close',
  ]);
  expect(JSON.parse(body)).toEqual({ message, return_code: Number(status.slice(0, 3)), error });
});

test('the length counts bytes where the message is not plain ASCII', async () => {
  const socket = new PassThrough();
  refuseBrokenRequest(errorWith('HPE_INVALID_URL', 'Ünlesbar'), socket);
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  expect(head).toContain(`Content-Length: ${Buffer.byteLength(body)}`);
  expect(Buffer.byteLength(body)).toBe(body.length + 1);
});

test('a client that is gone is not answered', () => {
  const reset = new PassThrough();
  refuseBrokenRequest(errorWith('ECONNRESET'), reset);
  expect(reset).toMatchObject({ destroyed: true, readableLength: 0 });
  const ended = new PassThrough();
  ended.end();
  refuseBrokenRequest(errorWith('HPE_INVALID_METHOD'), ended);
  expect(ended).toMatchObject({ destroyed: true, readableLength: 0 });
});
