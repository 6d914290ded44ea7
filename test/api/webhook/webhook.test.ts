// The listener for push hooks, asked as the Git servers do, and as nobody should.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { request as send } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createWebhook } from '../../../src/api/webhook/webhook.ts';
import type { Listening } from '../../../src/base/listen.ts';
import { createLog } from '../../../src/base/log.ts';
import { SecretFileError } from '../../../src/base/secrets.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SECRET = 'geheim';
const LIMIT = 25 * 1024 * 1024;

let clock: ManualClock;
let polls: number;
let lines: { readonly msg: string; readonly reason?: string; readonly level: number }[];
let secretFile: string;
let webhook: Listening;

beforeEach(async () => {
  clock = new ManualClock();
  polls = 0;
  lines = [];
  secretFile = join(temporaryDirectory(), 'secret');
  await writeFile(secretFile, `${SECRET}\n`);
  webhook = await open();
  onTestFinished(() => webhook.close());
});

function open(port = 0): Promise<Listening> {
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const poll = (): void => {
    polls += 1;
  };
  return createWebhook({ host: '127.0.0.1', port, secretFile, poll, clock, log });
}

function signatureOf(body: string | Buffer, secret = SECRET): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

interface Ask {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

async function ask({ path = '/webhook', method = 'POST', headers = {}, body = '' }: Ask) {
  const init = { method, headers, ...(method === 'GET' || method === 'HEAD' ? {} : { body }) };
  const response = await fetch(`http://127.0.0.1:${webhook.port}${path}`, init);
  const answer = await response.text();
  return { status: response.status, headers: response.headers, body: answer === '' ? undefined : JSON.parse(answer) };
}

function hook(body: string | Buffer, secret = SECRET): Promise<Awaited<ReturnType<typeof ask>>> {
  return ask({ body, headers: { 'X-Hub-Signature-256': `sha256=${signatureOf(body, secret)}` } });
}

/** Sends bytes as they are, and returns all that comes back. */
async function sendRaw(bytes: string): Promise<string> {
  const socket = connect(webhook.port, '127.0.0.1');
  socket.write(bytes);
  return await text(socket);
}

test('a push hook with the secret is accepted', async () => {
  const answer = await hook('{"ref":"refs/heads/main","repository":{"full_name":"infra/stäcks"}}');
  expect(answer).toMatchObject({ status: 202, body: { message: 'The repository will be polled', return_code: 202 } });
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(polls).toBe(1);
});

test.each<[string, Ask]>([
  ['of another secret', { body: 'x', headers: { 'X-Hub-Signature-256': `sha256=${signatureOf('x', 'other')}` } }],
  ['of another body', { body: '{} ', headers: { 'X-Hub-Signature-256': `sha256=${signatureOf('{}')}` } }],
  ['of none', { body: 'x' }],
])('a push hook with a signature %s is refused', async (_, sent) => {
  const answer = await ask(sent);
  expect(answer).toMatchObject({ status: 401, body: { return_code: 401, error: 'unauthorized' } });
  expect(JSON.stringify(answer.body)).not.toContain(SECRET);
  expect(polls).toBe(0);
  expect(lines.map(({ msg }) => msg)).toEqual(['hook refused']);
});

describe('the payload of a push hook', () => {
  test.each([
    ['nothing', ''],
    ['binary', Buffer.from([0, 1, 0xff, 0xfe])],
  ])('may be %s, because it is not read', async (_, body) => {
    expect((await hook(body)).status).toBe(202);
    expect(polls).toBe(1);
  });

  test('of more than 25 MiB is refused before it is sent', async () => {
    const answer = await sendRaw(
      `POST /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${LIMIT + 1}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 [\s\S]*25 MiB[\s\S]*"body_too_large"/);
    expect(polls).toBe(0);
  });

  test('is limited even without a declared length', async () => {
    const answered = Promise.withResolvers<number | undefined>();
    const outgoing = send({ port: webhook.port, host: '127.0.0.1', path: '/webhook', method: 'POST' }, (incoming) => {
      answered.resolve(incoming.statusCode);
      incoming.resume();
    });
    outgoing.on('error', answered.reject);
    for (let sent = 0; sent <= LIMIT; sent += LIMIT / 5) outgoing.write(Buffer.alloc(LIMIT / 5));
    // Answered although the end has not come.
    expect(await answered.promise).toBe(413);
    outgoing.destroy();
    expect(polls).toBe(0);
  });

  test('that breaks off is ignored, and the listener continues', async () => {
    const socket = connect(webhook.port, '127.0.0.1');
    socket.write('POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf');
    await once(socket, 'connect');
    socket.destroy();
    expect((await hook('x')).status).toBe(202);
    expect(polls).toBe(1);
  });
});

describe('the secret of push hooks', () => {
  test.each([
    ['geheim\n', 'geheim'],
    ['new\r\n', 'new'],
    ['geheim\n\n', 'geheim\n'],
    [' geheim ', ' geheim '],
    ['größe\n', 'größe'],
  ])('is read from the file for each hook: %j is %j', async (content, secret) => {
    await writeFile(secretFile, content);
    expect((await hook('x', secret)).status).toBe(202);
    expect((await hook('x', `${secret} `)).status).toBe(401);
  });

  test.each(['', '\n', '\r\n'])('must not be empty: %j', async (content) => {
    await writeFile(secretFile, content);
    expect(await hook('x', '')).toMatchObject({ status: 503, body: { error: 'not_ready' } });
    expect((await ask({ headers: { 'X-Gitlab-Token': '' } })).status).toBe(503);
    await expect(open()).rejects.toThrow(/webhook.secretFile .* is empty/);
    expect(polls).toBe(0);
  });

  test('whose file is missing is reported only in the log, and works again when the file is back', async () => {
    await rm(secretFile);
    const answer = await hook('x');
    expect(answer).toMatchObject({ status: 503, body: { return_code: 503, error: 'not_ready' } });
    expect(JSON.stringify(answer.body)).not.toContain(secretFile);
    expect(lines).toMatchObject([
      { level: 50, msg: 'hooks cannot be checked', err: { message: expect.stringContaining(secretFile) } },
    ]);
    await writeFile(secretFile, SECRET);
    expect((await hook('x')).status).toBe(202);
  });

  test.each<[string, () => Promise<void>, RegExp]>([
    ['gone', () => rm(secretFile), /cannot be read: it is not there/],
    ['too large', () => writeFile(secretFile, 'x'.repeat(65_537)), /it has 65537 bytes/],
  ])('is checked at the start: %s', async (_, change, message) => {
    await change();
    const failure = expect(open()).rejects;
    await failure.toThrow(message);
    await failure.toBeInstanceOf(SecretFileError);
  });
});

test('repeated refusals of a client are throttled in the log', async () => {
  for (let again = 0; again < 10; again += 1) await hook('x', 'other');
  expect(lines).toMatchObject([{ level: 40, msg: 'hook refused' }]);
  clock.advance(60_000);
  await hook('x', 'other');
  expect(lines.at(-1)).toMatchObject({ level: 40, msg: 'hook refused', repeated: 9 });
});

describe('another request to the webhook listener', () => {
  test.each([
    ['GET', '/', 404],
    ['POST', '/webhook/x', 404],
    ['GET', '/webhook', 405],
    ['DELETE', '/webhook/', 405],
  ])('%s %s is answered with %i', async (method, path, status) => {
    const answer = await ask({ method, path });
    const error = status === 404 ? 'not_found' : 'method_not_allowed';
    expect(answer).toMatchObject({ status, body: { return_code: status, error, message: expect.any(String) } });
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'POST' : null);
    expect(polls).toBe(0);
  });

  test('the webhook listener ignores a trailing slash and a query', async () => {
    const headers = { 'X-Gitlab-Token': SECRET };
    expect((await ask({ path: '/webhook/', headers })).status).toBe(202);
    expect((await ask({ path: '/webhook?x=1', headers })).status).toBe(202);
  });
});
