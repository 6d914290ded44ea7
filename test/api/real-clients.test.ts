// curl over mutual TLS: it sends a request without a body in several ways.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { run } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
let folder: string;
let url: string;
beforeAll(async () => {
  api = await startTestApi();
  url = `https://localhost:${api.server.port}/types/zone/`;
});
afterAll(() => api.api.close());
beforeEach(() => {
  folder = temporaryDirectory();
  const { key, cert } = api.identities.administrator;
  for (const [name, text] of Object.entries({ key, cert, ca: api.server.ca })) writeFileSync(join(folder, name), text);
  api.writer.asked.length = 0;
});

test.each([
  ['HTTP/1.0', ['-0', '-X', 'DELETE'], '200'],
  [
    'HTTP/1.0 with a body',
    ['-0', '-H', 'Content-Type: application/json', '-d', '{"name":"z1"}', '-o', '/dev/null'],
    '201',
  ],
  ['HTTP/1.1', ['-X', 'DELETE'], '200'],
  ['a length of 0', ['-X', 'DELETE', '-d', '', '-H', 'Content-Type:'], '200'],
  ['no chunk', ['-X', 'DELETE', '-T', '/dev/null', '-H', 'Transfer-Encoding: chunked'], '200'],
])('curl sends a request with %s', async (_what, options, status) => {
  const path = status === '201' ? url : `${url}z1`;
  const identity = ['--cert', join(folder, 'cert'), '--key', join(folder, 'key'), '--cacert', join(folder, 'ca')];
  const quiet = ['-sS', '-o', '/dev/null', '-w', '%{http_code}'];
  const { stdout, stderr } = await run('curl', [...quiet, ...identity, ...options, path]);
  expect({ stdout, stderr }).toEqual({ stdout: status, stderr: '' });
});
