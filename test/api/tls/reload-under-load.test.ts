// Key, certificate, authorities and revocation list are exchanged again and again while clients ask all the time: no
// request fails, and not one is repeated.
import { X509Certificate } from 'node:crypto';
import { Agent, get, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startApi } from '../../../src/api/api.ts';
import { openTlsFiles } from '../../../src/api/tls/tls-files.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { type Credential, createAuthority } from '../../../src/development-pki.ts';
import { createLog } from '../../../src/log.ts';
import { readAnswer } from '../../../src/providers/answer-json.ts';
import { createCrl } from '../../support/create-crl.ts';
import { createSampleAgent } from '../../support/sample-agent.ts';
import { createSampleExplainer } from '../../support/sample-explainer.ts';
import { createSampleOperator } from '../../support/sample-operator.ts';
import { createSampleReader } from '../../support/sample-reader.ts';
import { createSampleWriter } from '../../support/sample-writer.ts';
import { createTlsSite, exchange, replace, type TlsSite, type TlsTexts } from '../../support/tls-site.ts';

const SWAPS = 10;
const CLIENTS = 6;

/** Polls every second: what a watch misses is found then, and a test cannot wait for a minute. */
const hurriedClock: Clock = { ...systemClock, after: (ms, wake) => systemClock.after(Math.min(ms, 1_000), wake) };

async function serve(site: TlsSite) {
  const lines: { msg: string; level: number }[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const tls = await openTlsFiles({ paths: site.paths, clock: hurriedClock, log });
  const reader = createSampleReader();
  const options = {
    host: '127.0.0.1',
    port: 0,
    reader,
    operator: createSampleOperator(),
    explainer: createSampleExplainer(),
    agent: createSampleAgent(),
    readAnswer,
    writer: createSampleWriter(),
    commits: { reached: () => Promise.resolve() },
    clock: systemClock,
    log,
  };
  const api = await startApi({ ...options, tls: tls.material });
  tls.follow((material) => api.reload(material));
  onTestFinished(async () => {
    await tls.close();
    await api.close();
  });
  async function register(name: string): Promise<Credential> {
    const identity = await site.issueClient(name);
    const { serial, fingerprint } = identity;
    const fields = { type: 'client', description: '', role: 'administrator', tenant: '' } as const;
    reader.registry.set(serial, { ...fields, name: serial, serial, fingerprint });
    return identity;
  }
  return { port: api.port, lines, register };
}

interface Tally {
  answered: number;
  readonly failures: string[];
  /** Fingerprints of the server's certificates. */
  readonly seen: Set<string>;
}

function emptyTally(): Tally {
  return { answered: 0, failures: [], seen: new Set() };
}

/** Asks one request after the other until told to stop. Repeats none: a failure is a failure. */
async function askOn(tally: Tally, options: RequestOptions, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const request = get({ host: '127.0.0.1', path: '/types', ...options }, async (response) => {
      const certificate = (response.socket as TLSSocket).getPeerX509Certificate();
      // None where a session was resumed.
      if (certificate !== undefined) tally.seen.add(certificate.fingerprint256);
      const body = await text(response).catch((error: unknown) => String(error));
      if (response.statusCode === 200 && body.startsWith('{"types":')) tally.answered++;
      else tally.failures.push(`${response.statusCode} ${body}`);
      resolve();
    });
    request.on('error', (error) => {
      tally.failures.push(`${request.reusedSocket ? 'kept' : 'new'} connection: ${error.message}`);
      resolve();
    });
    await promise;
  }
}

/** The ways of exchanging files; `round` counts from 1. */
const WAYS: readonly [string, (site: TlsSite) => void, (site: TlsSite, texts: TlsTexts, round: number) => void][] = [
  ['one after the other', () => undefined, ({ directory }, texts) => replace(directory, texts)],
  [
    'all at once',
    ({ directory, texts }) => exchange(directory, texts, 0),
    ({ directory }, texts, round) => exchange(directory, texts, round),
  ],
];

test.each(WAYS)(
  `${SWAPS} exchanges under load, %s, fail no request`,
  { timeout: 90_000 },
  async (_name, begin, put) => {
    const now = Date.now();
    const site = await createTlsSite(now);
    begin(site);
    const second = await createAuthority({ commonName: 'Second authority', now });
    const secondList = await createCrl(second, { now, revoked: [] });
    const { port, lines, register } = await serve(site);
    const tally = emptyTally();
    let isOver = false;
    const clients = Array.from({ length: CLIENTS }, async (_, index) => {
      const { key, cert } = await register(`client ${index}`);
      // Half of them make a new connection for every request, with and without resuming sessions; the others keep theirs.
      const agent = new Agent({ keepAlive: index % 2 === 0, maxCachedSessions: index === 1 ? 0 : 100 });
      await askOn(tally, { port, ca: site.authority.cert, key, cert, agent }, () => isOver);
      agent.destroy();
    });
    for (let round = 1; round <= SWAPS; round++) {
      const revoked = await site.issueClient(`gone ${round}`);
      const hasBoth = round % 2 === 0;
      const texts: TlsTexts = {
        ...(await site.issueServer()),
        'ca.crt': site.authority.cert + (hasBoth ? second.cert : ''),
        'ca.crl': (await site.crl({ revoked: [revoked] })) + (hasBoth ? secondList : ''),
      };
      put(site, texts, round);
      const shown = new X509Certificate(texts['server.crt']).fingerprint256;
      await vi.waitFor(() => expect(tally.seen).toContain(shown), { timeout: 20_000 });
      const enough = tally.answered + 10 * CLIENTS;
      await vi.waitFor(() => expect(tally.answered).toBeGreaterThan(enough), { timeout: 20_000 });
    }
    isOver = true;
    await Promise.all(clients);
    expect(tally.failures).toEqual([]);
    expect(lines.filter(({ msg }) => msg === 'TLS files reloaded').length).toBeGreaterThanOrEqual(SWAPS);
  },
);

test('a revoked client is refused while the others go on', async () => {
  const site = await createTlsSite(Date.now());
  const { port, register, lines } = await serve(site);
  const [bad, good] = await Promise.all([register('bad'), register('good')]);
  const tallies = { bad: emptyTally(), good: emptyTally() };
  let isOver = false;
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
  const options = { port, ca: site.authority.cert };
  const running = [
    askOn(tallies.bad, { ...options, ...bad, agent: agents[0] }, () => isOver || tallies.bad.failures.length > 5),
    askOn(tallies.good, { ...options, ...good, agent: agents[1] }, () => isOver),
  ];
  await vi.waitFor(() => expect(tallies.bad.answered).toBeGreaterThan(10));
  replace(site.directory, { 'ca.crl': await site.crl({ revoked: [bad] }) });
  await vi.waitFor(() => expect(tallies.bad.failures.length).toBeGreaterThan(5), { timeout: 10_000 });
  const answered = tallies.good.answered;
  await vi.waitFor(() => expect(tallies.good.answered).toBeGreaterThan(answered + 10));
  isOver = true;
  await Promise.all(running);
  for (const agent of agents) agent.destroy();
  // The connection that it has may end with the answer that is under way; all others are refused in the handshake.
  expect(tallies.bad.failures[0]).toMatch(/^(kept|new) connection: /);
  expect(tallies.bad.failures.slice(1)).toEqual(Array(5).fill(expect.stringMatching(/^new connection: /)));
  expect(tallies.good.failures).toEqual([]);
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'connection refused', reason: 'CERT_REVOKED' }));
});
