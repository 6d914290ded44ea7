// The metrics of a whole controller: what happens is seen at /metrics, and is right for Prometheus' own tools.
import { expect, test } from 'vitest';
import { createHttpsClient } from '../support/https-client.ts';
import { PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { createSite } from '../support/site.ts';
import { SERVERS, SHOP, STACKS } from './stacks.ts';
import { identityOf, registrationOf, upAndWriting } from './writing.ts';

/** Returns the value of each series, by its name with its labels. */
async function scrape({ controller }: RunningController): Promise<Readonly<Record<string, number>>> {
  const text = await textOf(controller.management.port);
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    series.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

async function textOf(port: number): Promise<string> {
  return await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

test('what happens in a controller is seen in its metrics', async () => {
  const site = await createSite(STACKS);
  const running = await runController(site);
  const head = await site.repository.head();
  await running.untilDone(head, 'shop', 'office');
  const at = await scrape(running);
  expect(at).toMatchObject({
    'treeline_servers{state="done"}': SERVERS.length,
    'treeline_servers{state="failed"}': 0,
    'treeline_instances{status="Done"}': 2,
    ...{ treeline_ready: 1, treeline_leader: 1, treeline_commit_lag_seconds: 0, treeline_repository_outage_seconds: 0 },
    [`treeline_commit_info{position="followed",commit="${head}"}`]: 1,
    'treeline_provider_calls_total{entry="lab",operation="create",outcome="done"}': SERVERS.length,
    'treeline_provider_call_duration_seconds_count{entry="lab",operation="create"}': SERVERS.length,
    'treeline_provider_calls_total{entry="lab",operation="delete",outcome="lost"}': 0,
    'treeline_polls_total{outcome="failed"}': 0,
    treeline_delete_budget_left: 5,
  });
  expect(at['treeline_passes_total{outcome="succeeded"}']).toBeGreaterThanOrEqual(SERVERS.length);
  expect(at.treeline_store_commit_duration_seconds_count).toBeGreaterThan(0);
  expect(at['treeline_fetches_total{outcome="succeeded"}']).toBeGreaterThan(0);
  expect(Object.keys(at).filter((series) => /shop|office/.test(series))).toEqual([]);
  expect(
    at['treeline_http_requests_total{route="/stacks/instances/:id/status",role="administrator",code="200"}'],
  ).toBeGreaterThan(1);
});

test('a wrong commit, a write, strangers and drift count', async () => {
  const { site, running, write } = await upAndWriting();
  expect((await write('/types/location/', { body: { name: 'ulm' } })).status).toBe(201);
  expect((await write('/stacks/instances/shop/', { body: { stackTemplate: 'web' } })).status).toBe(409);
  const stranger = identityOf(site, 'proxy');
  const { request } = createHttpsClient({ port: running.controller.api.port, ca: site.ca }, stranger);
  expect((await request('/tree/')).status).toBe(403);
  await expect(request('/tree/', { identity: null })).rejects.toThrow();
  expect(await scrape(running)).toMatchObject({
    'treeline_writes_total{outcome="written"}': 1,
    'treeline_writes_total{outcome="conflict"}': 1,
    'treeline_refused_certificates_total{reason="client_not_registered"}': 1,
    'treeline_refused_certificates_total{reason="ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE"}': 1,
    'treeline_http_requests_total{route="unknown",role="none",code="403"}': 1,
    'treeline_http_requests_total{route="/stacks/instances/:id",role="administrator",code="409"}': 1,
  });
  expect(Object.keys(await scrape(running)).filter((series) => series.startsWith('treeline_prox'))).toEqual([]);
  const proxy = { ...registrationOf(site, 'proxy'), tags: ['site-a', 'site-b'] };
  expect((await write('/clients', { body: proxy })).status).toBe(201);
  expect((await scrape(running))['treeline_proxies{tag="site-b"}']).toBe(1);
  expect(await scrape(running)).not.toHaveProperty('treeline_proxy_last_seen_timestamp_seconds{tag="site-b"}');
  expect((await request('/agent/actions?wait=0')).status).toBe(200);
  const seen = (await scrape(running))['treeline_proxy_last_seen_timestamp_seconds{tag="site-b"}'];
  expect(Math.abs(Date.now() / 1000 - (seen ?? 0))).toBeLessThan(30);
  await site.repository.commit({ 'tree.yaml': 'name: [' });
  const refused = async (): Promise<unknown> => (await scrape(running))['treeline_polls_total{outcome="refused"}'];
  await expect.poll(refused, PATIENCE).toBe(1);
  expect((await scrape(running)).treeline_commit_lag_seconds).toBeGreaterThan(0);
  await site.repository.commit({ 'tree.yaml': STACKS['tree.yaml'] ?? null, [SHOP]: 'stackTemplate: shoop\n' });
  const invalid = async (): Promise<unknown> => (await scrape(running))['treeline_instances{status="Invalid"}'];
  await expect.poll(invalid, PATIENCE).toBe(1);
  expect((await scrape(running)).treeline_commit_lag_seconds).toBe(0);
  const needing = async (): Promise<unknown> =>
    (await scrape(running))['treeline_instance_attention{instance="shop",kind="invalid"}'];
  await expect.poll(needing, PATIENCE).toBe(1);
  expect((await scrape(running))['treeline_attention{kind="invalid",acknowledged="false"}']).toBe(1);
});
