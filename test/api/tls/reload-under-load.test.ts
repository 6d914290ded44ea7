// Key, certificate, authorities and revocation list are exchanged again and again while clients ask all the time: no
// request fails, and not one is repeated.
import { X509Certificate } from 'node:crypto';
import { Agent, get, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openTlsFiles } from '../../../src/api/tls/tls-files.ts';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { type Credential, createAuthority } from '../../../src/base/development-pki.ts';
import { createLog } from '../../../src/base/log.ts';
import { createCrl } from '../../support/create-crl.ts';
import { startTestApi } from '../../support/test-api.ts';
import { createTlsSite, exchange, replace, type TlsSite, type TlsTexts } from '../../support/tls-site.ts';

const CLIENTS = 6;

/** Polls every second: what a watch misses is found then, and a test cannot wait for a minute. */
const hurriedClock: Clock = { ...systemClock, after: (ms, wake) => systemClock.after(Math.min(ms, 1_000), wake) };

/** A listener that follows the files of its site. */
interface ServedSite {
  readonly port: number;
  /** What it has logged. */
  readonly lines: readonly { readonly msg: string }[];
  /** Makes a certificate of a client that is let in. */
  register(name: string): Promise<Credential>;
}

/** Starts a listener with the files of a site, which does not outlive the running test. */
async function serveSite(site: TlsSite): Promise<ServedSite> {
  const lines: { msg: string }[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const tls = await openTlsFiles({ paths: site.paths, clock: hurriedClock, log });
  const served = await startTestApi(systemClock, undefined, { tls: tls.material, authority: site.authority });
  tls.follow((material) => served.api.reload(material));
  onTestFinished(async () => {
    await tls.close();
    await served.api.close();
  });
  return {
    port: served.api.port,
    get lines() {
      return [...lines, ...served.lines.map((line) => JSON.parse(line))];
    },
    async register(name) {
      const identity = await site.issueClient(name);
      served.register(identity, { role: 'administrator' });
      return identity;
    },
  };
}

/** What clients have seen. */
interface Tally {
  answered: number;
  readonly failures: string[];
  /** Fingerprints of the server's certificates. */
  readonly seen: Set<string>;
}

/** Returns a tally of clients that have not asked yet. */
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

/** How files are exchanged. */
interface Exchange {
  readonly begin: (site: TlsSite) => void;
  /** `round` counts from 1. */
  readonly put: (site: TlsSite, texts: TlsTexts, round: number) => void;
}

/** The ways of exchanging files. */
const EXCHANGES: readonly (readonly [string, Exchange])[] = [
  ['one after the other', { begin: () => undefined, put: ({ directory }, texts) => replace(directory, texts) }],
  [
    'all at once',
    {
      begin: ({ directory, texts }) => exchange(directory, texts, 0),
      put: ({ directory }, texts, round) => exchange(directory, texts, round),
    },
  ],
];

/** Exchanges the files of a site `swaps` times while clients ask, and checks that no request fails. */
async function exchangeUnderLoad(swaps: number, { begin, put }: Exchange): Promise<void> {
  const now = Date.now();
  const site = await createTlsSite(now);
  begin(site);
  const second = await createAuthority({ commonName: 'Second authority', now });
  const secondList = await createCrl(second, { now, revoked: [] });
  const served = await serveSite(site);
  const { port, register } = served;
  const tally = emptyTally();
  let isOver = false;
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    const { key, cert } = await register(`client ${index}`);
    // Half of them make a new connection for every request, with and without resuming sessions; the others keep theirs.
    const agent = new Agent({ keepAlive: index % 2 === 0, maxCachedSessions: index === 1 ? 0 : 100 });
    await askOn(tally, { port, ca: site.authority.cert, key, cert, agent }, () => isOver);
    agent.destroy();
  });
  for (let round = 1; round <= swaps; round++) {
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
  expect(served.lines.filter(({ msg }) => msg === 'TLS files reloaded').length).toBeGreaterThanOrEqual(swaps);
}

/** The authorities and the revocation list are one and two in turn. */
const SWAPS = 2;

test.each(EXCHANGES)(`${SWAPS} exchanges under load, %s, fail no request`, async (_, how) => {
  await exchangeUnderLoad(SWAPS, how);
  expect.hasAssertions();
});

test('a revoked client is refused while the others go on', async () => {
  const site = await createTlsSite(Date.now());
  const served = await serveSite(site);
  const { port, register } = served;
  const [bad, good] = await Promise.all([register('bad'), register('good')]);
  const tallies = { bad: emptyTally(), good: emptyTally() };
  let isOver = false;
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
  const options = { port, ca: site.authority.cert };
  const running = [
    askOn(tallies.bad, { ...options, ...bad, agent: agents[0] }, () => isOver || tallies.bad.failures.length > 5),
    askOn(tallies.good, { ...options, ...good, agent: agents[1] }, () => isOver),
  ];
  await vi.waitFor(() => expect(tallies.bad.answered).toBeGreaterThan(10), 20_000);
  replace(site.directory, { 'ca.crl': await site.crl({ revoked: [bad] }) });
  await vi.waitFor(() => expect(tallies.bad.failures.length).toBeGreaterThan(5), { timeout: 10_000 });
  const answered = tallies.good.answered;
  await vi.waitFor(() => expect(tallies.good.answered).toBeGreaterThan(answered + 10), 20_000);
  isOver = true;
  await Promise.all(running);
  for (const agent of agents) agent.destroy();
  // The connection that it has may end with the answer that is under way; all others are refused in the handshake.
  expect(tallies.bad.failures[0]).toMatch(/^(kept|new) connection: /);
  expect(tallies.bad.failures.slice(1)).toEqual(Array(5).fill(expect.stringMatching(/^new connection: /)));
  expect(tallies.good.failures).toEqual([]);
  expect(served.lines).toContainEqual(expect.objectContaining({ msg: 'connection refused', reason: 'CERT_REVOKED' }));
});
