// Bytes that no client sends by accident: requests hidden in others, lengths that disagree, bodies that break off, and
// targets that are no paths. Whatever comes, there is one answer a request, soon, and none to what was smuggled.
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startListener } from '../../src/api/listener.ts';
import { type Credential, issueClientCertificate } from '../../src/base/development-pki.ts';
import { createLog } from '../../src/base/log.ts';
import { sendRaw } from '../support/https-client.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
let stranger: Credential;
beforeAll(async () => {
  api = await startTestApi();
  stranger = await issueClientCertificate(api.authority, { commonName: 'stranger', now: Date.now() });
});
afterAll(() => api.api.close());
beforeEach(() => {
  api.writer.asked.length = 0;
  api.operator.asked.length = 0;
});

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: unknown;
}

/** Takes what came back apart: every answer has a length, but for those of Node's own. */
function answersIn(received: string): Answer[] {
  const answers: Answer[] = [];
  for (let rest = received; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n');
    const head = rest.slice(0, end);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    const body = rest.slice(end + 4, end + 4 + length);
    answers.push({ status: Number(head.slice(9, 12)), head, body: body === '' ? undefined : JSON.parse(body) });
    rest = rest.slice(end + 4 + length);
  }
  return answers;
}

async function ask(bytes: string, identity = api.identities.administrator): Promise<Answer[]> {
  const before = performance.now();
  const answers = answersIn(await sendRaw(api.server, identity, bytes));
  // Far below the 30 s after which a request is too slow.
  expect(performance.now() - before).toBeLessThan(5_000);
  return answers;
}

const HOST = 'Host: x\r\n';
const JSON_BODY = 'Content-Type: application/json\r\n';
const SMUGGLED = `POST /operations/suspend HTTP/1.1\r\n${HOST}${JSON_BODY}Content-Length: 2\r\n\r\n{}`;
const SUSPEND = `POST /operations/suspend HTTP/1.1\r\n${HOST}${JSON_BODY}`;

describe('what Node refuses is answered once, and what was smuggled behind it is not carried out', () => {
  test.each<[string, string]>([
    ['a chunk without a size', `${SUSPEND}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['a chunk that is longer than it says', `${SUSPEND}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`],
    ['an encoding that is not known', `${SUSPEND}Transfer-Encoding: miracle\r\n\r\n{}`],
    ['chunked twice', `${SUSPEND}Transfer-Encoding: chunked, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['a length and an encoding', `${SUSPEND}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${SUSPEND}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`],
    ['a length with a sign', `${SUSPEND}Content-Length: +2\r\n\r\n{}`],
    ['a space before the colon', `GET /types HTTP/1.1\r\n${HOST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a bare line feed', `GET /types HTTP/1.1\nHost: x\nContent-Length: 0\n\n`],
    ['NUL in a value', `GET /types HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`],
    ['HTTP/0.9', `GET /types\r\n`],
  ])('%s', async (_name, bytes) => {
    const answers = await ask(bytes + SMUGGLED);
    expect(answers).toMatchObject([{ status: 400 }]);
    expect(answers[0]?.head).toMatch(/\r\nconnection: close/i);
    expect(api.operator.asked).toEqual([]);
  });

  test('a body that breaks after its request was answered', async () => {
    const chunked = `${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n${SMUGGLED}`;
    const read = await ask(`GET /types HTTP/1.1\r\n${chunked}`);
    expect(read.map(({ status }) => status)).toSatisfy((all) => ['200', '400'].includes(String(all)));
    const refused = await ask(`POST /tree HTTP/1.1\r\n${JSON_BODY}${chunked}`, api.identities.proxy);
    expect(refused.map(({ status }) => status)).toSatisfy((all) => ['403', '400'].includes(String(all)));
    expect([...api.writer.asked, ...api.operator.asked]).toEqual([]);
  });

  test('what follows "Connection: close", and a tunnel', async () => {
    const answers = await ask(`GET /types HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n${SMUGGLED}`);
    expect(answers.map(({ status }) => status)).toSatisfy((all) => ['200', '400'].includes(String(all)));
    expect(api.operator.asked).toEqual([]);
    expect(await sendRaw(api.server, api.identities.administrator, `CONNECT x:1 HTTP/1.1\r\n${HOST}\r\n`)).toBe('');
  });
});

describe('a target', () => {
  const CLOSE = 'Connection: close\r\n';
  test.each(['http://', 'http:///types', 'types', '?x', 'x@y', '/types#x', '//a@b:x/types#x', '//a@[/types#x'])(
    'that is no path is refused, in JSON and only to who is known: %s',
    async (target) => {
      const bytes = `GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`;
      const answers = await ask(bytes);
      expect([400, 404]).toContain(answers[0]?.status);
      const [unknown] = await ask(bytes, stranger);
      // What Node's own parser refuses is refused to all alike.
      if (unknown?.body !== undefined) {
        expect(unknown).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
      }
    },
  );

  test.each([
    ['https://x/types', 200],
    ['HTTPS://X:8443/types?', 200],
    ['https://x', 200],
    ['/%2e%2e/types', 404],
    ['/stacks/instances/..%2f..%2fetc', 404],
    ['//types', 404],
    ['/types/../tree', 404],
  ])('%s is %i', async (target, status) => {
    expect(await ask(`GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)).toMatchObject([{ status }]);
  });
});

test('requests that were sent ahead are answered in order, each once', async () => {
  const asks = ['/types', '/nothing', '/types/zone/z1'].map((path) => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
  const answers = await ask(`${asks.join('')}GET /tree HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`);
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 200]);
});

test.each([
  ['headers', `GET / HTTP/1.1\r\n${HOST}X-Long: `],
  ['a chunk', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nfff\r\n`],
])('who sends %s a byte at a time is disconnected when the time is up', async (_name, bytes) => {
  const listener = await startListener({
    ...{ host: '127.0.0.1', port: 0, tls: api.tls, log: createLog('silent') },
    limits: { handshakeMs: 500, headersMs: 500, requestMs: 1_000 },
    handler: (request, response) => request.resume().on('end', () => response.end('{}')),
  });
  const { key, cert } = api.identities.administrator;
  const socket = connect({ host: '127.0.0.1', ...api.server, port: listener.port, key, cert });
  const received = text(socket).catch(() => 'reset');
  socket.on('error', () => undefined).write(bytes);
  const dripping = setInterval(() => socket.writable && socket.write('x'), 20);
  expect(await received).toMatch(/^(HTTP\/1\.1 408 [\s\S]*|reset)$/);
  clearInterval(dripping);
  await listener.close();
});
