// Bytes that no client sends by accident: requests hidden in others, lengths that disagree, bodies that break off, and
// targets that are no paths. Whatever comes, there is one answer a request, soon, and none to what was smuggled.
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startListener } from '../../src/api/listener.ts';
import { sendJson } from '../../src/api/present.ts';
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

describe('a body that cannot be read', () => {
  test.each<[string, string]>([
    ['a chunk without a size', `${SUSPEND}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['a negative chunk', `${SUSPEND}Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n`],
    ['a chunk that is longer than it says', `${SUSPEND}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`],
    [
      'a chunk size beyond all numbers',
      `${SUSPEND}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n0\r\n\r\n`,
    ],
    ['a second chunk that is broken', `${SUSPEND}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\nzz\r\n}\r\n0\r\n\r\n`],
    ['an encoding that is not known', `${SUSPEND}Transfer-Encoding: miracle\r\n\r\n{}`],
    [
      'two lines of encodings',
      `${SUSPEND}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ],
    ['chunked twice', `${SUSPEND}Transfer-Encoding: chunked, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['chunked and then another', `${SUSPEND}Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['an encoding behind a control character', `${SUSPEND}Transfer-Encoding: \x0bchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`],
    ['a length and an encoding', `${SUSPEND}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['two lengths', `${SUSPEND}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`],
    ['two equal lengths', `${SUSPEND}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
    ['a list of lengths', `${SUSPEND}Content-Length: 2, 2\r\n\r\n{}`],
    ['a negative length', `${SUSPEND}Content-Length: -2\r\n\r\n{}`],
    ['a length with a sign', `${SUSPEND}Content-Length: +2\r\n\r\n{}`],
    ['a hexadecimal length', `${SUSPEND}Content-Length: 0x2\r\n\r\n{}`],
  ])('is answered 400 once and at once, and ends the connection: %s', async (_name, bytes) => {
    const answers = await ask(bytes + SMUGGLED);
    expect(answers).toMatchObject([{ status: 400 }]);
    expect(answers[0]?.head).toMatch(/\r\nconnection: close/i);
    expect(api.operator.asked).toEqual([]);
  });

  test('is not answered a second time where a read was answered before its body', async () => {
    const answers = await ask(`GET /types HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n${SMUGGLED}`);
    expect(answers.map(({ status }) => status)).toSatisfy((all) => ['200', '400'].includes(String(all)));
    expect(api.operator.asked).toEqual([]);
  });

  test('is not answered a second time where a write was refused before its body', async () => {
    const refused = `POST /tree HTTP/1.1\r\n${HOST}${JSON_BODY}Transfer-Encoding: chunked\r\n\r\nzz\r\n${SMUGGLED}`;
    const answers = await ask(refused, api.identities.proxy);
    expect(answers.map(({ status }) => status)).toSatisfy((all) => ['403', '400'].includes(String(all)));
    expect(api.writer.asked).toEqual([]);
  });
});

describe('headers that hide a request', () => {
  test.each<[string, string]>([
    ['a space before the colon', `GET /types HTTP/1.1\r\n${HOST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`],
    ['a folded line', `GET /types HTTP/1.1\r\n${HOST}X: a\r\n\tb\r\nContent-Length\r\n : 5\r\n\r\n`],
    ['a bare line feed', `GET /types HTTP/1.1\nHost: x\nContent-Length: 0\n\n`],
    ['a bare carriage return', `GET /types HTTP/1.1\r\n${HOST}X: a\rContent-Length: 200\r\n\r\n`],
    ['NUL in a value', `GET /types HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`],
    ['NUL in the target', `GET /types\0 HTTP/1.1\r\n${HOST}\r\n`],
    ['a space in the target', `GET /types x HTTP/1.1\r\n${HOST}\r\n`],
    ['a version that is none', `GET /types HTTP/9.9\r\n${HOST}\r\n`],
    ['HTTP/0.9', `GET /types\r\n`],
    ['HTTP/2 without TLS saying so', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a method that is none', `GEt /types HTTP/1.1\r\n${HOST}\r\n`],
  ])('are answered 400 once, and end the connection: %s', async (_name, bytes) => {
    const answers = await ask(bytes + SMUGGLED);
    expect(answers).toMatchObject([{ status: 400 }]);
    expect(api.operator.asked).toEqual([]);
  });

  test('an upgrade and a tunnel are not taken', async () => {
    const upgrade = `GET /types HTTP/1.1\r\n${HOST}Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`;
    expect(await ask(upgrade)).toMatchObject([{ status: 200 }]);
    expect(await sendRaw(api.server, api.identities.administrator, `CONNECT x:1 HTTP/1.1\r\n${HOST}\r\n`)).toBe('');
  });
});

describe('a target', () => {
  const CLOSE = 'Connection: close\r\n';
  test.each([
    'http://',
    'http:',
    'https://',
    'http:///types',
    'types',
    '?x',
    'ftp://x/types',
    'javascript:alert(1)',
    'x@y',
    '/types#x',
    '//a@b#x',
    '//a@b:x/types#x',
    '//a@[/types#x',
    '//a@b/types?x#y',
    '/nothing\\zone#x',
  ])('that is no path is refused, in JSON and only to who is known: %s', async (target) => {
    const bytes = `GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`;
    const answers = await ask(bytes);
    expect([400, 404]).toContain(answers[0]?.status);
    expect(JSON.stringify(answers)).not.toContain('<');
    const [unknown] = await ask(bytes, stranger);
    // What Node's own parser refuses is refused to all alike.
    if (unknown?.body !== undefined) {
      expect(unknown).toMatchObject({ status: 403, body: { error: 'client_not_registered' } });
    }
  });

  test('with scheme and authority is the path in it', async () => {
    for (const target of ['https://x/types', 'http://X:8443/types/', 'HTTPS://x/types?']) {
      expect(await ask(`GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)).toMatchObject([{ status: 200 }]);
    }
    expect(await ask(`GET https://x HTTP/1.1\r\n${HOST}${CLOSE}\r\n`)).toMatchObject([{ status: 200 }]);
  });

  test.each(['/%2e%2e/types', '/stacks/instances/..%2f..%2fetc', '/types/zone/%00', '//types', '/types/../tree', '/.'])(
    'that leads elsewhere is nothing: %s',
    async (target) => {
      const answers = await ask(`GET ${target} HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);
      expect(answers).toMatchObject([{ status: 404, body: { error: 'not_found' } }]);
    },
  );
});

describe('one after the other on one connection', () => {
  test('requests that were sent ahead are answered in order, each once', async () => {
    const asks = ['/types', '/nothing', '/types/zone/z1'].map((path) => `GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
    const answers = await ask(`${asks.join('')}GET /tree HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`);
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 200]);
  });

  test('more requests than may be sent ahead end the connection, and few are carried out', async () => {
    const listener = await startBusy(1);
    const server = { ...api.server, port: listener.port };
    const received = await sendRaw(
      server,
      api.identities.proxy,
      `GET /types HTTP/1.1\r\n${HOST}\r\n`.repeat(500),
    ).catch(() => '');
    expect(answersIn(received).length).toBeLessThan(100);
    await listener.close();
  });

  /** A listener each of whose answers takes so long to make, in milliseconds. */
  async function startBusy(ms: number) {
    return await startListener({
      host: '127.0.0.1',
      port: 0,
      tls: api.tls,
      log: createLog('silent'),
      handler(_request, response) {
        for (const until = performance.now() + ms; performance.now() < until; );
        sendJson(response, 200, {});
      },
    });
  }

  test('what follows "Connection: close" is not read', async () => {
    const answers = await ask(`GET /types HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n${SMUGGLED}`);
    expect(answers.map(({ status }) => status)).toSatisfy((all) => ['200', '400'].includes(String(all)));
    expect(api.operator.asked).toEqual([]);
  });
});

describe('who is slow', () => {
  /** A listener with short limits, before the real application would be asked. */
  async function startImpatient() {
    const limits = { handshakeMs: 500, headersMs: 500, requestMs: 1_000 };
    const listener = await startListener({
      host: '127.0.0.1',
      port: 0,
      tls: api.tls,
      log: createLog('silent'),
      limits,
      handler: (request, response) => request.resume().on('end', () => response.end('{}')),
    });
    return { listener, server: { ...api.server, port: listener.port } };
  }

  /** Sends a byte at a time, for ever. */
  async function drip(socket: TLSSocket, bytes: string): Promise<string> {
    const received = text(socket).catch(() => 'reset');
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    for (let index = 0; !socket.destroyed && index < 10_000; index++) {
      if (socket.writable) socket.write(bytes[index] ?? 'x');
      await pause(20);
    }
    return await received;
  }

  test.each([
    ['headers', `GET /types HTTP/1.1\r\n${HOST}`],
    ['a body', `POST / HTTP/1.1\r\n${HOST}Content-Length: 9999\r\n\r\n`],
    ['a chunk', `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nfff\r\n`],
  ])('with %s, a byte at a time, is ended when the time is up', async (_name, bytes) => {
    const { listener, server } = await startImpatient();
    const { key, cert } = api.identities.administrator;
    const before = performance.now();
    // The beginning at once, the rest by the byte.
    const socket = connect({ host: '127.0.0.1', ...server, key, cert });
    if (bytes.includes('\r\n\r\n')) socket.write(bytes);
    const answer = await drip(socket, bytes.includes('\r\n\r\n') ? '' : `${bytes}X-Long: `);
    expect(performance.now() - before).toBeLessThan(8_000);
    expect(answer).toMatch(/^(HTTP\/1\.1 408 [\s\S]*|reset)$/);
    await listener.close();
  });
});
