// Delivered, not just desired, on a whole controller over real TLS: a node fetches its record and confirms it, a commit changes it, the
// controller is started again. The command line asks as people do.
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Delivered } from '../../src/service/answers.ts';
import { treeline } from '../support/command-here.ts';
import type { Reply } from '../support/https-client.ts';
import { PATIENCE, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { push, restart, type Scene, twoServers } from './scene.ts';
import { STACKS } from './stacks.ts';

const NODE = 'shop-web-1';
const CHANGED = `types/clientcert/${NODE}.yaml`;

/** The identity of the site's proxy, which a test registers as it likes. */
function identityIn({ folder }: Site) {
  const read = (end: string): string => readFileSync(join(folder, 'pki', `proxy.${end}`), 'utf8');
  return { key: read('key'), cert: read('crt') };
}

class Consumer {
  readonly #scene: Scene;
  digest = '';

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  #ask(path: string, more: object = {}): Promise<Reply> {
    return this.#scene.running.request(path, { identity: identityIn(this.#scene.site), ...more });
  }

  async fetch(): Promise<this> {
    const { status, headers } = await this.#ask(`/hiera/${NODE}/`);
    expect(status).toBe(200);
    this.digest = String(headers.etag);
    return this;
  }

  async confirm(outcome: string, message = '', node = NODE): Promise<number> {
    const body = JSON.stringify({ digest: this.digest, outcome, message });
    const headers = { 'Content-Type': 'application/json' };
    return (await this.#ask(`/hiera/${node}/applied`, { method: 'POST', headers, body })).status;
  }
}

async function delivered({ running }: Scene, query = ''): Promise<Delivered> {
  const { status, body } = await running.get(`/operations/delivered${query}`);
  expect(status).toBe(200);
  return body as Delivered;
}

function ask({ site, running }: Scene, ...args: readonly string[]) {
  const { port } = running.controller.api;
  const pki = (file: string): string => join(site.folder, 'pki', file);
  const server = ['--server', `https://127.0.0.1:${port}`, '--ca', pki('ca.crt')];
  return treeline([...args, ...server, '--key', pki('administrator.key'), '--cert', pki('administrator.crt')]);
}

it('a record is delivered once its node has confirmed it, and that is known after a restart', async () => {
  const site = await createSite({ ...STACKS });
  const { serialNumber } = new X509Certificate(identityIn(site).cert);
  const client = `role: proxy\nnode: ${NODE}\ndescription: agent of ${NODE}\n`;
  const first = await site.repository.commit({ [`clients/${serialNumber}.yaml`]: client });
  const scene: Scene = { site, running: await runController(site, twoServers), settings: twoServers };
  await scene.running.untilDone(first, 'shop', 'office');
  expect(await delivered(scene)).toMatchObject({ counts: { delivered: 0, outdated: 0, notReporting: 6 }, nodes: [] });

  const consumer = await new Consumer(scene).fetch();
  expect(await consumer.confirm('applied', '', 'shop-web-2')).toBe(403);
  expect(await consumer.confirm('applied')).toBe(200);
  const { nodes } = await delivered(scene, '?state=delivered&instance=shop');
  const mark = { client: serialNumber.replace(/^0+(?=..)/, ''), clientName: `agent of ${NODE}` };
  expect(nodes).toMatchObject([{ name: NODE, instance: 'shop', state: 'delivered', confirmed: mark }]);

  const second = await push(scene, { [CHANGED]: 'log_level: debug\n' });
  expect(await delivered(scene)).toMatchObject({
    counts: { delivered: 0, outdated: 1, failed: 0, notReporting: 5 },
    summary: `1 of 1 nodes has not applied its present record: ${NODE}; 5 more do not report`,
    nodes: [{ name: NODE, state: 'outdated', confirmed: { outcome: 'applied' } }],
  });
  expect((await delivered(scene, `?commit=${first}`)).counts).toMatchObject({ delivered: 1, outdated: 0 });
  // Changes no record of this node.
  await push(scene, { 'types/zone/z.yaml': 'a: b\n' });

  await consumer.fetch();
  expect(await consumer.confirm('failed', 'no space left')).toBe(200);
  await restart(scene);
  expect(await delivered(scene)).toMatchObject({
    counts: { failed: 1 },
    nodes: [{ name: NODE, state: 'failed', confirmed: { outcome: 'failed', message: 'no space left' } }],
  });
  const shown = await ask(scene, 'delivered', 'shop');
  expect(shown.stdout).toContain(`  ${NODE}: failed\n`);
  expect(shown.stdout).toMatch(/no space left\ndo: look at what applies/);
  const late = await ask(scene, 'status', '--wait', second, '--delivered', '--timeout', '1');
  expect([late.code, late.stderr]).toEqual([
    1,
    expect.stringContaining(`not delivered in time: 1 of 1 nodes could not apply`),
  ]);

  const waiting = ask(scene, 'status', '--wait', second, '--delivered');
  expect(await consumer.confirm('applied')).toBe(200);
  expect((await waiting).code).toBe(0);
  await restart(scene);
  expect((await delivered(scene, `?commit=${second}`)).summary).toMatch(
    /^the one node that reports runs its record of /,
  );
  await expect
    .poll(async () => (await delivered(scene, '?state=delivered')).nodes[0]?.digest, PATIENCE)
    .toBe(consumer.digest.replaceAll('"', ''));
});
