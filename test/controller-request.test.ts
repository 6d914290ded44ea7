// Requests to a controller, of proxies and of the command line, over real TLS: what they return, and their limits.
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type AnswerLimits, sendToController } from '../src/base/controller-request.ts';
import { createAuthority, issueClientCertificate, issueServerCertificate } from '../src/base/development-pki.ts';
import { BrokenAnswer } from '../src/base/http-request.ts';
import { listenInTest } from './support/listen-in-test.ts';

let pki: { readonly own: { cert: string; key: string; ca: string }; readonly server: { cert: string; key: string } };
beforeAll(async () => {
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'authority', now });
  const { cert, key } = await issueClientCertificate(authority, { commonName: 'client', now });
  const server = await issueServerCertificate(authority, { hosts: ['127.0.0.1'], now });
  pki = { own: { cert, key, ca: authority.cert }, server };
});

async function sendTo(answer: (response: ServerResponse) => void, limits: Partial<AnswerLimits> = {}) {
  const server = createServer(pki.server, (_request, response) => answer(response));
  const url = new URL(`https://127.0.0.1:${await listenInTest(server)}/`);
  const all = { silenceMs: 60_000, bytesMax: 1_000, ...limits };
  return await sendToController({ url, tls: pki.own, limits: all });
}

describe('an answer of the controller', () => {
  it.each<[what: string, status: number, text: string, want: object]>([
    ['in JSON', 200, '[1]', { body: [1] }],
    ['that is no JSON', 200, '<html>', { body: undefined, message: '<html>' }],
    ['that refuses', 409, '{"message":"no"}', { body: undefined, message: 'no' }],
    ['that refuses in other words', 502, 'x'.repeat(300), { body: undefined, message: 'x'.repeat(200) }],
  ])('%s', async (_what, status, text, want) => {
    const answer = await sendTo((response) => void response.writeHead(status).end(text));
    expect(answer).toMatchObject({ status, ...want });
  });
});

describe('a broken answer of the controller', () => {
  it('is reported if it breaks off', async () => {
    const breaksOff = sendTo((response) => void response.write('{', () => response.destroy()));
    await expect(breaksOff).rejects.toBeInstanceOf(BrokenAnswer);
  });

  it('is reported if it has too many bytes', async () => {
    const long = sendTo((response) => void response.end('x'.repeat(1_001)));
    await expect(long).rejects.toThrow(/^the answer has more than 1000 bytes$/);
  });

  it('is reported if it pauses too long', async () => {
    const paused = sendTo((response) => void response.write('{'), { silenceMs: 300 });
    await expect(paused).rejects.toThrow(/^no answer within 0\.3 s$/);
  });

  it('is reported if the peer never answers, within the time limit of the request', async () => {
    const sockets: Socket[] = [];
    const silent = createTcpServer((socket) => void sockets.push(socket));
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    const url = new URL(`https://127.0.0.1:${await listenInTest(silent)}/`);
    const asked = sendToController({ url, tls: pki.own, limits: { silenceMs: 300, bytesMax: 1_000 } });
    await expect(asked).rejects.toThrow(/^no answer within 0\.3 s$/);
  });

  it('is reported if it never ends', async () => {
    const dripping = sendTo(
      (response) => {
        const drip = setInterval(() => response.write(' '), 20);
        response.on('close', () => clearInterval(drip));
      },
      { wholeMs: 300 },
    );
    await expect(dripping).rejects.toThrow(/aborted|timeout/);
  });
});
