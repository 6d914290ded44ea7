// How the reports of a proxy reach its controller: what one place admits, the next one admits.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ClaimedWork } from '../../src/agents/claimed-work.ts';
import { ControllerClient, ControllerRefusal } from '../../src/agents/controller-client.ts';
import { ReportDelivery } from '../../src/agents/report-delivery.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { ANSWER_BYTES_MAX, readAnswer } from '../../src/providers/answer-json.ts';
import { ACTION } from '../support/sample-parts.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi } from '../support/test-api.ts';

const LEASE = 'x'.repeat(43);

/** Delivers an answer with `send`, and resolves once nothing of it is kept any more. */
async function deliver(answer: ReturnType<typeof readAnswer>, send: ControllerClient['send']) {
  const work = new ClaimedWork(temporaryDirectory());
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const delivery = new ReportDelivery({ client: { send }, work, clock: systemClock, log });
  delivery.deliver(await work.end(await work.begin({ id: ACTION.id, lease: LEASE }), answer));
  await expect.poll(() => work.list(), { timeout: 10_000 }).toEqual([]);
  await delivery.stop(0);
  return lines.map(({ msg }) => msg);
}

it('reports the largest answer that a program may give', async () => {
  const { api, tls, identities, agent } = await startTestApi();
  const folder = temporaryDirectory();
  const files = { cert: join(folder, 'crt'), key: join(folder, 'key'), ca: join(folder, 'ca') };
  const texts = { cert: identities.proxy.cert, key: identities.proxy.key, ca: tls.ca };
  for (const name of ['cert', 'key', 'ca'] as const) writeFileSync(files[name], String(texts[name]));
  const client = new ControllerClient({ server: `https://127.0.0.1:${api.port}`, tls: files });
  // Values of 60,000 letters, and a last one that fills the answer to its last byte.
  const observed = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`p${index}`, 'ü'.repeat(30_000)]));
  const room =
    ANSWER_BYTES_MAX - Buffer.byteLength(JSON.stringify({ outcome: 'done', observed: { ...observed, q: '' } }));
  const text = JSON.stringify({ outcome: 'done', observed: { ...observed, q: 'x'.repeat(room) } });
  expect(Buffer.byteLength(text)).toBe(ANSWER_BYTES_MAX);
  const answer = readAnswer(text);
  expect(await deliver(answer, (request) => client.send(request))).toEqual(['reported']);
  expect(agent.asked).toEqual([['report', ACTION.id, { lease: LEASE, answer }]]);
  client.close();
  await api.close();
});

it.each([404, 413])('sends no report again that is refused with %d', async (status) => {
  const refusal = new ControllerRefusal(`the controller answered ${status}`, status);
  const lines = await deliver(readAnswer('{ "outcome": "done" }'), () => Promise.reject(refusal));
  expect(lines).toEqual(['the controller refuses the report; it is not sent again']);
});

it('continues if the claim of an accepted report cannot be removed', async () => {
  const directory = temporaryDirectory();
  const work = new ClaimedWork(directory);
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  let sent = 0;
  const send = async (): Promise<JsonMap> => {
    sent += 1;
    return {};
  };
  const delivery = new ReportDelivery({ client: { send }, work, clock: systemClock, log });
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
