// The connection of a proxy to its controller, over real TLS with a certificate that is renewed while it runs, and how reports reach it.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ClaimedWork } from '../../src/agents/claimed-work.ts';
import { ControllerClient, ControllerRefusal } from '../../src/agents/controller-client.ts';
import { ReportDelivery } from '../../src/agents/report-delivery.ts';
import { systemClock } from '../../src/base/clock.ts';
import { type Credential, issueClientCertificate } from '../../src/base/development-pki.ts';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { ANSWER_BYTES_MAX, readAnswer } from '../../src/providers/answer-json.ts';
import { ACTION } from '../support/sample-parts.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

interface Place {
  readonly client: ControllerClient;
  write(identity: Pick<Credential, 'key' | 'cert'>): void;
}

function clientWith(identity: Pick<Credential, 'key' | 'cert'>): Place {
  const folder = temporaryDirectory();
  const tls = { cert: join(folder, 'proxy.crt'), key: join(folder, 'proxy.key'), ca: join(folder, 'ca.crt') };
  const write: Place['write'] = ({ key, cert }) => {
    writeFileSync(tls.key, key);
    writeFileSync(tls.cert, cert);
  };
  writeFileSync(tls.ca, api.tls.ca);
  write(identity);
  const client = new ControllerClient({ server: `https://127.0.0.1:${api.api.port}`, tls });
  return { client, write };
}

const ACTIONS = { path: '/agent/actions?wait=0' };

const LEASE = 'x'.repeat(43);

/** Delivers an answer with `send`, and resolves once nothing of it is kept any more. */
async function deliver(answer: ReturnType<typeof readAnswer>, send: ControllerClient['send']) {
  const work = new ClaimedWork(temporaryDirectory());
  const { delivery, lines } = deliveryOf(work, send);
  delivery.deliver(await work.end(await work.begin({ id: ACTION.id, lease: LEASE }), answer));
  await expect.poll(() => work.list(), { timeout: 10_000 }).toEqual([]);
  await delivery.stop(0);
  return lines.map(({ msg }) => msg);
}

function deliveryOf(work: ClaimedWork, send: ControllerClient['send']) {
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  return { lines, delivery: new ReportDelivery({ client: { send }, work, clock: systemClock, log }) };
}

it('ControllerClient asks as the proxy, and reports refusals', async () => {
  const { client } = clientWith(api.identities.proxy);
  expect(await client.send(ACTIONS)).toEqual({ actions: [ACTION] });
  const refused = client.send({ path: '/agent/actions/nothing/claim', body: {} });
  await expect(refused).rejects.toMatchObject({ status: 404, message: expect.stringContaining('nothing') });
  await expect(client.send({ ...ACTIONS, signal: AbortSignal.abort() })).rejects.toThrow();
  client.close();
});

it('ControllerClient reports the largest answer of a program', async () => {
  const { client } = clientWith(api.identities.proxy);
  // Values of 60,000 letters, and a last one that fills the answer to its last byte.
  const observed = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`p${index}`, 'ü'.repeat(30_000)]));
  const bytes = Buffer.byteLength(JSON.stringify({ outcome: 'done', observed: { ...observed, q: '' } }));
  const q = 'x'.repeat(ANSWER_BYTES_MAX - bytes);
  const answer = readAnswer(JSON.stringify({ outcome: 'done', observed: { ...observed, q } }));
  expect(await deliver(answer, (request) => client.send(request))).toEqual(['reported']);
  expect(api.agent.asked).toEqual([['report', ACTION.id, { lease: LEASE, answer }]]);
  client.close();
});

it('ControllerClient uses a renewed certificate when its files match', async () => {
  const { client, write } = clientWith(api.identities.proxy);
  await client.send(ACTIONS);
  const next = await issueClientCertificate(api.authority, { commonName: 'renewed', now: Date.now() });
  write({ key: api.identities.proxy.key, cert: next.cert });
  await expect(client.send(ACTIONS)).rejects.toThrow(/key values mismatch/);
  write(next);
  await expect(client.send(ACTIONS)).rejects.toMatchObject({ status: 403 });
  api.register(next, { role: 'proxy', tags: ['lab'] });
  expect(await client.send(ACTIONS)).toEqual({ actions: [ACTION] });
  client.close();
});

it.each([404, 413])('ControllerClient does not repeat a report refused with %d', async (status) => {
  const refusal = new ControllerRefusal(`the controller answered ${status}`, status);
  const lines = await deliver(readAnswer('{ "outcome": "done" }'), () => Promise.reject(refusal));
  expect(lines).toEqual(['the controller refuses the report; it is not sent again']);
});

it('ControllerClient continues if the claim of an accepted report cannot be removed', async () => {
  const directory = temporaryDirectory();
  const work = new ClaimedWork(directory);
  let sent = 0;
  const send = async (): Promise<JsonMap> => {
    sent += 1;
    return {};
  };
  const { delivery, lines } = deliveryOf(work, send);
  const kept = await work.end(await work.begin({ id: ACTION.id, lease: LEASE }), readAnswer('{ "outcome": "done" }'));
  // In the place of its file, a directory, which cannot be removed as a file.
  const path = join(directory, kept.file);
  rmSync(path);
  mkdirSync(path);
  delivery.deliver(kept);
  const count = (text: string): number => lines.filter(({ msg }) => msg === text).length;
  await expect.poll(() => count('the claim could not be removed')).toBe(1);
  await delivery.stop(0);
  expect(sent).toBe(1);
});
