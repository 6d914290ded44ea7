// The whole interface on the sample repository: one request after another to a whole controller, compared with
// rest-transcript.txt. `UPDATE_GOLDEN=1 npx vitest run test/scenario/rest-transcript.test.ts` writes the file.
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isMap, type JsonMap } from '../../src/model/json.ts';
import { ROOT } from '../support/command-line.ts';
import { yamlFilesIn } from '../support/git-repository.ts';
import type { Reply } from '../support/https-client.ts';
import { readableJson } from '../support/readable-json.ts';
import { ROUTES } from '../support/route-table.ts';
import { PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { IS_ON_POSTGRES } from '../support/scenario-database.ts';
import { createSite, type Site } from '../support/site.ts';

const GOLDEN = new URL('rest-transcript.txt', import.meta.url);
const SAMPLE = join(ROOT, 'sample-repo');
const INSTANCES = ['orders-db', 'shop-production', 'shop-staging'];
/** Longer answers are cut: other tests compare whole lists and records. */
const LINES_MAX = 40;
/** Headers that depend on the connection or on the packing, not on the answer. */
const UNTOLD = new Set([
  ...['date', 'connection', 'keep-alive', 'content-length', 'transfer-encoding'],
  ...['x-request-id', 'x-treeline-replica'],
]);

/** Who asks: a name below pki/. */
type Who = 'administrator' | 'automation-endpoint' | 'proxy';
type Step = readonly [
  request: string,
  body?: JsonMap | undefined,
  more?: { readonly as?: Who; readonly headers?: Readonly<Record<string, string>> },
];

/** Each on what the ones before have left. `<commit>` stands for the followed commit. */
const STEPS: readonly Step[] = [
  ['GET /'],
  ['GET /stacks/instances'],
  ['GET /stacks/instances/shop-staging/'],
  ['GET /stacks/instances/shop-stagin/'],
  ['GET /stacks/instances/shop-staging/status'],
  ['GET /stacks/instances/shop-staging/status/full'],
  ['GET /stacks/instances/shop-staging/why'],
  ['GET /stacks/instances/orders-db/events'],
  ['GET /stacks/templates'],
  ['GET /stacks/templates/database/'],
  ['GET /clients?role=administrator'],
  ['GET /clients?role=guest'],
  ['GET /clients/A110C0DE0000000000000001/'],
  ['GET /types'],
  ['GET /types/zone/'],
  ['GET /types/zones/'],
  ['GET /types/zone/internal/'],
  ['GET /hiera/prod-web-4'],
  ['GET /hiera/prod-web-4?info=true'],
  ['GET /hiera/prod-web-4/log_level'],
  ['GET /hiera/prod-web-4/log_level?info=true'],
  ['GET /hiera/prod-web-44'],
  ['GET /hiera/prod-web-4/log_levl'],
  ['POST /hiera/prod-web-4/applied', { digest: 'W/"UMWbPIaSuOxAVbzZqSMX1A"', outcome: 'applied' }, { as: 'proxy' }],
  ['POST /hiera/prod-web-4/applied', { digest: 'UMWbPIaSuOxAVbzZqSMX1A', outcome: 'applied' }],
  ['GET /hiera/all'],
  ['GET /tree/'],
  ['GET /operations/status'],
  ['GET /operations/held'],
  ['GET /operations/problems'],
  ['GET /operations/controller'],
  ['GET /operations/providers', undefined, { headers: { 'if-none-match': '*' } }],
  ['GET /operations/commits', undefined, { headers: { 'if-none-match': '*' } }],
  ['GET /operations/commits/0000000'],
  ['GET /operations/explain/prod-web-4', undefined, { headers: { 'if-none-match': '*' } }],
  ['GET /operations/servers?instance=orders-db'],
  ['GET /operations/servers/orders-db'],
  ['GET /operations/delivered?instance=shop-production&state=failed'],
  ['GET /operations/delivered?commit=main'],
  ['GET /operations/recorded'],
  ['GET /operations/recovery'],
  // Sorted by serials, which are made for each run.
  ['GET /operations/clients', undefined, { headers: { 'if-none-match': '*' } }],
  ['GET /operations/notifications'],
  ['GET /operations/events?instance=orders-db&limit=1'],
  ['GET /events?after=yesterday'],
  ['GET /operations/explain/prod-web-4/log_level'],
  ['GET /types/zone/', undefined, { headers: { 'x-treeline-min-commit': '<commit>' } }],
  ['GET /types/zone/', undefined, { headers: { 'x-treeline-min-commit': 'main' } }],
  ['GET /openapi.json', undefined, { headers: { 'if-none-match': '*' } }],
  ['GET /nothing'],
  ['GET /stacks'],
  ['PUT /tree/'],
  ['HEAD /tree/'],
  ['GET /tree/', undefined, { headers: { 'content-type': 'text/plain', origin: 'https://example.org' } }],
  ['POST /types/zone/?dry_run=true', { name: 'edge', description: 'Close to customers' }],
  ['POST /types/zone/', { name: 'edge', description: 'Close to customers' }],
  ['POST /types/zone/', { name: 'edge', description: 'Close to customers' }],
  ['POST /types/zone/', { name: 'edge', colour: 'red' }],
  ['POST /types/zone/', { name: 'far' }, { as: 'proxy' }],
  ['DELETE /types/zone/edge/'],
  ['DELETE /types/zone/edge/'],
  ['POST /types/stack-template/', { name: 'empty' }],
  ['POST /stacks/instances/blog/', { stackTemplate: 'databse' }],
  ['POST /stacks/instances/blog/', { stackTemplate: 'empty' }, { as: 'automation-endpoint' }],
  ['POST /stacks/templates', { stackTemplate: 'empty', name: 'news' }],
  ['GET /stacks/instances/blog/status', undefined, { headers: { 'x-treeline-min-commit': '<commit>' } }],
  ['DELETE /stacks/instances/blog/'],
  ['DELETE /stacks/instances/orders-db/'],
  ['POST /clients', { name: '00AB', role: 'proxy', tags: ['lab'] }],
  ['POST /clients', { serial: '00AB', role: 'proxy', tags: ['lab'] }],
  ['DELETE /clients/AB/'],
  ['DELETE /clients/AB/'],
  ['DELETE /clients'],
  ['POST /tree/', { name: 'global', type: 'zone' }],
  ['POST /operations/suspend', { instance: 'shop-staging', reason: 'sale' }],
  ['GET /stacks/instances/shop-staging/status'],
  ['GET /stacks/instances/shop-staging/why'],
  ['POST /operations/suspend', { instance: 'shop-staging', reason: 'sale' }, { as: 'automation-endpoint' }],
  ['POST /operations/resume', { instance: 'shop-staging' }],
  ['POST /operations/resume', { instance: 'shop-staging' }],
  ['POST /operations/acknowledge', { instance: 'shop-staging', until: '2026-01-01T00:00:00Z' }],
  ['POST /operations/acknowledge', { instance: 'shop-staging', end: true }],
  ['POST /operations/retry', { all: true }],
  ['POST /operations/adopt', { all: true }],
  ['POST /operations/retain', { resource: 'orders-db' }],
  ['POST /operations/replace', { resource: 'orders-bd' }],
  ['POST /operations/check', { instance: 'shop-stagin' }],
  ['POST /operations/approve', { digest: 'beef' }],
  ['POST /operations/accept-history', { commit: 'beef' }],
  ['POST /operations/approve', { digets: 'beef' }],
  ['GET /agent/actions'],
  ['GET /agent/actions?wait=0', undefined, { as: 'proxy' }],
  ['POST /agent/actions/none/claim', {}, { as: 'proxy' }],
  ['POST /agent/actions/none/heartbeat', { lease: 'secret' }, { as: 'proxy' }],
  ['POST /agent/actions/none/report', { lease: 'secret', ended: 'done' }, { as: 'proxy' }],
];

function credentialOf({ folder }: Site, who: Who) {
  const read = (end: string): string => readFileSync(join(folder, 'pki', `${who}.${end}`), 'utf8');
  return { key: read('key'), cert: read('crt') };
}

/** Replaces what differs between two runs. */
function createMask(site: Site): (text: string) => string {
  const serials = (['administrator', 'automation-endpoint', 'proxy'] as const).map((who) => {
    const { serialNumber, fingerprint256 } = new X509Certificate(credentialOf(site, who).cert);
    return { who, serialNumber, fingerprint: fingerprint256.replaceAll(':', '').toLowerCase() };
  });
  return (text) => {
    let masked = text;
    for (const { who, serialNumber, fingerprint } of serials) {
      masked = masked.replaceAll(serialNumber, `<serial of ${who}>`).replaceAll(fingerprint, `<fingerprint of ${who}>`);
    }
    return masked
      .replaceAll(site.folder, '<folder>')
      .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>')
      .replaceAll(/\b[0-9a-f]{64}\b/g, '<digest>')
      .replaceAll(/\b[0-9a-f]{40}\b/g, '<commit>')
      .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
      .replaceAll(/\b1\d{12}\b/g, '<number>');
  };
}

function answerText({ status, headers, body }: Reply): string {
  const told = Object.entries(headers)
    .filter(([name]) => !UNTOLD.has(name))
    .map(([name, value]) => `${name}: ${name === 'etag' ? '<etag>' : value}`);
  const lines = body === undefined ? [] : readableJson(withoutLeader(body)).trimEnd().split('\n');
  const cut =
    lines.length > LINES_MAX ? [...lines.slice(0, LINES_MAX), `… and ${lines.length - LINES_MAX} lines more`] : lines;
  return [`${status}`, ...told.sort(), ...cut].join('\n');
}

/** On a database, answers tell who leads too. */
function withoutLeader(body: unknown): unknown {
  if (!IS_ON_POSTGRES || !isMap(body) || body.leader === undefined) return body;
  const { leader, ...rest } = body;
  expect(leader).toMatchObject({ name: hostname(), fencing: 1 });
  return rest;
}

function isCutOff({ body }: Reply): boolean {
  return body !== undefined && JSON.stringify(body).includes('not found within');
}

async function transcriptOf(site: Site, running: RunningController): Promise<string> {
  const mask = createMask(site);
  const parts: string[] = [];
  for (const [request, body, { as = 'administrator', headers = {} } = {}] of STEPS) {
    const [method = '', path = ''] = request.split(' ');
    const commit = await site.repository.head();
    const sent = Object.entries(headers).map(([name, value]) => [name, value.replace('<commit>', commit)]);
    const ask = (): Promise<Reply> =>
      running.request(path, {
        method,
        identity: credentialOf(site, as),
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...Object.fromEntries(sent) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    let reply = await ask();
    // Git may be slow on a busy machine.
    for (let again = 0; again < 20 && isCutOff(reply); again += 1) reply = await ask();
    const asked = [
      `> ${request} (${as})`,
      ...Object.entries(headers).map(([name, value]) => `> ${name}: ${value}`),
      ...(body === undefined ? [] : [`> ${JSON.stringify(body)}`]),
    ];
    parts.push(`${asked.join('\n')}\n${mask(answerText(reply))}\n`);
  }
  return parts.join('\n');
}

test('the REST interface answers as in rest-transcript.txt', { timeout: 240_000 }, async () => {
  const site = await createSite(yamlFilesIn(SAMPLE));
  const clients = (['automation-endpoint', 'proxy'] as const).map((who) => {
    const serial = new X509Certificate(credentialOf(site, who).cert).serialNumber;
    return [`clients/${serial}.yaml`, `role: ${who}\n`];
  });
  const commit = await site.repository.commit(Object.fromEntries(clients));
  const running = await runController(site);
  await running.untilDone(commit, ...INSTANCES);
  await expect.poll(() => running.states('orders-db'), PATIENCE).toEqual({ 'orders-db': 'done' });
  const text = await transcriptOf(site, running);
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(GOLDEN, text);
  expect(text).toBe(readFileSync(GOLDEN, 'utf8'));
});

test('rest-transcript.txt has a request for every route', () => {
  const asked = STEPS.map(([request]) => request.replace(/\?.*/, '').replace(/(?<=\w)\/$/, ''));
  const missing = Object.keys(ROUTES).filter((route) => {
    // A node is explained with one key and with all of them alike.
    const pattern = route.replace(/(?<=explain\/:node)$/, '(?:/[^/]+)?').replaceAll(/:\w+/g, '[^/]+');
    return !asked.some((request) => new RegExp(`^${pattern}$`).test(request));
  });
  expect(missing).toEqual([]);
});
