// How the page is served: what it weighs, who may read it on which listener, and what a browser may do with it.
import { request as ask } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createApp, createStandbyApp } from '../../src/api/app.ts';
import { createDashboard } from '../../src/api/dashboard.ts';
import type { FollowedLeader } from '../../src/api/forward.ts';
import { createManagement } from '../../src/api/management.ts';
import { CLIENT_CERTIFICATE } from '../../src/api/peer.ts';
import { systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { ROLES } from '../../src/model/names.ts';
import { pageFiles } from '../../src/page/serve-page.ts';
import { answerIn } from '../../src/providers/answer-json.ts';
import { createHttpsClient, type HttpsClient } from '../support/https-client.ts';
import { linkTo } from '../support/leader-link.ts';
import { ROUTES } from '../support/route-table.ts';
import { CONTROLLER } from '../support/sample-operator.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
let handler: ReturnType<typeof createApp>;
/** The files of the page are no answers of the interface, which OpenAPI describes. */
let request: HttpsClient['request'];
const shown = { replica: 'test-1', controller: CONTROLLER, clock: systemClock, log: createLog('silent') };
const ambiguityOf = () => undefined;
beforeAll(async () => {
  api = await startTestApi();
  ({ request } = createHttpsClient(api.server, api.identities.administrator));
  handler = createApp({ ...api, ...shown, streams: api.sample.streams, readAnswer: answerIn, ambiguityOf });
});
afterAll(() => api.api.close());

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Starts a management listener with a dashboard, and returns what asks it. */
async function dashboardOn(app = handler) {
  const told = { ready: () => true as const, leads: () => true as const, metrics: async () => '', clock: systemClock };
  const dashboard = createDashboard(app);
  const management = await createManagement({ host: '127.0.0.1', port: 0, ...told, dashboard });
  onTestFinished(() => management.close());
  const { port } = management;
  return async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Reply> => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const own = { host: `localhost:${port}`, ...headers };
    const sent = ask({ port, host: '127.0.0.1', path, method, headers: own, setHost: false }, async (answer) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) });
    });
    sent.on('error', reject);
    sent.end();
    return await promise;
  };
}

describe('the files of the page', () => {
  test('have at most 90 kB as sent', () => {
    const sizes = [...pageFiles().values()].map(({ packed }) => packed.length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(90_000);
    expect(sizes.length).toBeGreaterThan(8);
  });

  test('have no inline script or style, and load nothing from other hosts', () => {
    for (const [name, { bytes }] of pageFiles()) {
      const content = bytes.toString();
      if (name.endsWith('.html')) expect(content).not.toMatch(/<style|<script(?![^>]* src=)|\son\w+=|\sstyle=/);
      if (name !== 'icon.svg')
        expect(content.match(/https?:\/\/[^\s'"`)]+/g) ?? []).toEqual(expect.arrayContaining([]));
      expect(content).not.toMatch(/ from ['"](?!\.\/)/);
    }
  });
});

describe('the page on the API listener', () => {
  test.each(ROLES)('is sent to %s', async (role) => {
    for (const path of [
      '/ui/',
      '/ui/instances/shop',
      '/ui/servers/shop-web/',
      '/ui/changes/abc',
      '/ui/events',
      '/ui/servers?search=a',
      '/ui/start.js',
      '/ui/preact.js',
    ]) {
      const { status, headers } = await request(path, {
        identity: api.identities[role],
        headers: { 'Accept-Encoding': 'gzip' },
      });
      expect({ path, status }).toEqual({ path, status: 200 });
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; script-src 'self'; style-src 'self'; .*frame-ancestors 'none'/,
        ),
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
      });
      expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|https?:/);
    }
  });

  test('is not sent without a certificate', async () => {
    await expect(request('/ui/', { identity: null })).rejects.toThrow();
  });

  test('is cached, and compressed if accepted', async () => {
    const first = await request('/ui/page.css', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(first.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': 'text/css; charset=utf-8' });
    const again = await request('/ui/page.css', { headers: { 'If-None-Match': String(first.headers.etag) } });
    expect({ status: again.status, length: again.bytes.length }).toEqual({ status: 304, length: 0 });
    expect(await request('/ui')).toMatchObject({ status: 308, headers: { location: '/ui/' } });
  });

  test.each([
    '/ui/start.ht',
    '/ui/start.html',
    '/ui/../package.json',
    '/ui/%2e%2e/serve-page.ts',
    '/ui/instances/a/b',
    '/ui//ui/api',
  ])('has no file %s', async (path) => {
    expect((await request(path)).status).toBe(404);
  });

  test('can only be read', async () => {
    const { status, headers } = await request('/ui/', { method: 'POST' });
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow: 'GET, HEAD' });
  });
});

describe('the page on the management listener', () => {
  test('reads without a certificate, next to the health checks', async () => {
    const get = await dashboardOn();
    expect((await get('/ui/')).body).toContain('data-api="/ui/api"');
    for (const path of [
      '/operations/status',
      '/operations/clients',
      '/operations/held',
      '/operations/servers?limit=5',
      '/operations/servers/shop-web',
      '/stacks/instances/shop/why',
      '/stacks/instances/shop/events?after=3',
      '/operations/explain/shop-web/',
      '/operations/events?after=3',
      '/operations/commits?limit=5',
      '/operations/controller',
      '/operations/providers',
    ]) {
      const { status, body } = await get(`/ui/api${path}`);
      expect({ path, status }).toEqual({ path, status: 200 });
      expect(body).not.toMatch(/fingerprint/i);
    }
    expect((await get('/livez', { host: 'health.example.org' })).status).toBe(200);
  });

  test.each([
    'evil.example.org',
    '10.0.0.5:9080',
    'localhost.evil.example.org',
    '127.0.0.1.nip.io',
    '[::2]',
    '',
    'localhost:1@evil',
  ])('refuses the host name %j', async (host) => {
    const get = await dashboardOn();
    for (const path of ['/ui/', '/ui/start.js', '/ui/api/operations/status']) {
      expect({ path, status: (await get(path, { host })).status }).toEqual({ path, status: 403 });
    }
  });

  test.each(['localhost', '127.0.0.1:9080', '[::1]:9080', 'LOCALHOST:1'])('accepts the host name %j', async (host) => {
    const get = await dashboardOn();
    expect((await get('/ui/api/operations/status', { host, origin: `http://${host.toLowerCase()}` })).status).toBe(200);
  });

  test.each([
    { origin: 'https://evil.example.org' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ])('refuses pages of another origin: %j', async (headers) => {
    const get = await dashboardOn();
    expect((await get('/ui/api/operations/status', headers as Record<string, string>)).status).toBe(403);
  });

  test('refuses writes with any method', async () => {
    const get = await dashboardOn();
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      expect((await get('/ui/api/operations/status', {}, method)).status).toBe(405);
    }
    expect((await get('/ui/api/operations/status', {}, 'HEAD')).body).toBe('');
  });

  test('has no other routes', async () => {
    const get = await dashboardOn();
    const own =
      /^\/(?:operations\/(?:status|recovery|held|clients|delivered|events|commits|commits\/:oid|controller|providers|servers|servers\/:server|explain\/:node(?:\/:key)?)|stacks\/instances\/:stack_instance_id\/(?:why|events)|events)$/;
    const others = Object.keys(ROUTES).filter((route) => !own.test(route.split(' ')[1] ?? ''));
    expect(others.length).toBeGreaterThan(20);
    for (const route of others) {
      const path = (route.split(' ')[1] ?? '').replace(/:\w+/g, 'shop');
      expect({ path, status: (await get(`/ui/api${path}`)).status }).toEqual({ path, status: 404 });
    }
    for (const path of [
      '/ui/api/../operations/recorded',
      '/ui/api//clients',
      '/ui/api/operations/status/../../clients',
      '/ui/api/%2e%2e/clients',
    ]) {
      expect({ path, status: (await get(path)).status }).toEqual({ path, status: 404 });
    }
  });

  test('is answered by the leader on a standby, with the rights of the page', async () => {
    const { link, ask, close } = await linkTo(handler);
    onTestFinished(close);
    const forwarded: string[] = [];
    const leader: FollowedLeader = {
      isKnown: () => true,
      lag: () => undefined,
      refresh: async () => undefined,
      shows: async () => true,
      ask: (question, ...others) => {
        forwarded.push(`${question.headers[CLIENT_CERTIFICATE]} ${question.path}`);
        return link.ask(question, ...others);
      },
    };
    const get = await dashboardOn(
      createStandbyApp({ ...api, ...shown, streams: api.sample.streams, leader, ambiguityOf }),
    );
    expect((await get('/ui/api/operations/status')).status).toBe(200);
    expect(forwarded).toEqual([' /operations/status']);
    const headers = { [CLIENT_CERTIFICATE]: '', host: 'x', 'content-type': 'application/json' };
    const { status } = await ask({ method: 'POST', path: '/operations/retry', headers }, '{"all":true}');
    expect(status).toBe(403);
    expect(api.operator.asked).toEqual([]);
  });
});
