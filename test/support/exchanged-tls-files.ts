// A listener whose TLS files are exchanged while clients ask all the time. They repeat no request: a failure is a failure.
import { X509Certificate } from 'node:crypto';
import { Agent, get, type RequestOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { expect, onTestFinished, vi } from 'vitest';
import { createApp } from '../../src/api/app.ts';
import { startListener } from '../../src/api/listener.ts';
import { openTlsFiles } from '../../src/api/tls/tls-files.ts';
import { findAmbiguity } from '../../src/api/tls/tls-material.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Credential, createAuthority } from '../../src/base/development-pki.ts';
import { createLog } from '../../src/base/log.ts';
import { answerIn } from '../../src/providers/answer-json.ts';
import { createCrl } from './create-crl.ts';
import { createSampleAgent } from './sample-agent.ts';
import { createSampleExplainer } from './sample-explainer.ts';
import { CONTROLLER, createSampleOperator } from './sample-operator.ts';
import { createSampleReader } from './sample-reader.ts';
import { createSampleStreams } from './sample-streams.ts';
import { createSampleWriter } from './sample-writer.ts';
import { createTlsSite, exchange, replace, type TlsSite, type TlsTexts } from './tls-site.ts';

const CLIENTS = 6;

/** Polls every second: what a watch misses is found then, and a test cannot wait for a minute. */
const hurriedClock: Clock = { ...systemClock, after: (ms, wake) => systemClock.after(Math.min(ms, 1_000), wake) };

/** A listener that follows the files of its site. */
export interface ServedSite {
  readonly port: number;
  /** What it has logged. */
  readonly lines: readonly { readonly msg: string; readonly level: number }[];
  /** Makes a certificate of a client that is let in. */
  register(name: string): Promise<Credential>;
}

/** Starts a listener with the files of a site, which does not outlive the running test. */
export async function serveSite(site: TlsSite): Promise<ServedSite> {
  const lines: { msg: string; level: number }[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const tls = await openTlsFiles({ paths: site.paths, clock: hurriedClock, log });
  const reader = createSampleReader();
  const shown = { replica: 'test-1', controller: CONTROLLER, clock: systemClock, log };
  const handler = createApp({
    ...shown,
    ambiguityOf: findAmbiguity(() => tls.material),
    reader,
    operator: createSampleOperator(),
    explainer: createSampleExplainer(),
    agent: createSampleAgent(),
    readAnswer: answerIn,
    writer: createSampleWriter(),
    streams: createSampleStreams().streams,
    commits: { reached: () => Promise.resolve() },
  });
  const api = await startListener({ ...shown, host: '127.0.0.1', port: 0, tls: tls.material, handler });
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

/** What clients have seen. */
export interface Tally {
  answered: number;
  readonly failures: string[];
  /** Fingerprints of the server's certificates. */
  readonly seen: Set<string>;
}

/** Returns a tally of clients that have not asked yet. */
export function emptyTally(): Tally {
  return { answered: 0, failures: [], seen: new Set() };
}

/** Asks one request after the other until told to stop. Repeats none: a failure is a failure. */
export async function askOn(tally: Tally, options: RequestOptions, isOver: () => boolean): Promise<void> {
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
export interface Exchange {
  readonly begin: (site: TlsSite) => void;
  /** `round` counts from 1. */
  readonly put: (site: TlsSite, texts: TlsTexts, round: number) => void;
}

/** The ways of exchanging files. */
export const EXCHANGES: readonly (readonly [string, Exchange])[] = [
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
export async function exchangeUnderLoad(swaps: number, { begin, put }: Exchange): Promise<void> {
  const now = Date.now();
  const site = await createTlsSite(now);
  begin(site);
  const second = await createAuthority({ commonName: 'Second authority', now });
  const secondList = await createCrl(second, { now, revoked: [] });
  const { port, lines, register } = await serveSite(site);
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
  expect(lines.filter(({ msg }) => msg === 'TLS files reloaded').length).toBeGreaterThanOrEqual(swaps);
}
