// Tests the end states of a whole controller after pushes of many kinds, never the steps to them.
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { effectsIn, existing, PATIENCE, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { headOf, push, type Scene, upAndDone as upWith } from './scene.ts';
import { instanceText, OFFICE, SERVERS, SHOP, STACKS, TEMPLATE, templateText } from './stacks.ts';

/** A controller that has brought the desired state up, whose settings are those of the site. */
function upAndDone(): Promise<Scene> {
  return upWith(STACKS, (settings) => settings);
}

function serversIn(site: Site): string[] {
  return Object.keys(existing(site));
}

it('servers follow sizes and templates in dependency order, and records follow configuration without an action', async () => {
  const scene = await upAndDone();
  const { site, running } = scene;
  expect(serversIn(site)).toEqual(SERVERS);
  const order = effectsIn(site).map(({ server }) => server);
  expect(order.indexOf('shop-db')).toBeLessThan(order.indexOf('shop-web-1'));
  expect((await fetch(`http://127.0.0.1:${running.controller.management.port}/readyz`)).status).toBe(200);

  await running.untilDone(await push(scene, { [SHOP]: instanceText('shop', 4) }), 'shop');
  expect(serversIn(site)).toEqual([...SERVERS, 'shop-web-3', 'shop-web-4']);
  await running.untilDone(await push(scene, { [SHOP]: instanceText('shop', 2) }), 'shop');
  expect(await running.states('shop')).toEqual({ 'shop-db': 'done', 'shop-web-1': 'done', 'shop-web-2': 'done' });

  const before = effectsIn(site).length;
  await running.untilDone(await push(scene, { [TEMPLATE]: templateText('large') }), 'office', 'shop');
  const updates = effectsIn(site).slice(before);
  expect(updates.map(({ server, operation }) => `${operation} ${server}`).sort()).toEqual([
    'update office-web-1',
    'update shop-web-1',
    'update shop-web-2',
  ]);
  expect(existing(site)).toMatchObject({ 'office-web-1': { size: 'large' }, 'shop-web-2': { size: 'large' } });

  const effects = effectsIn(site);
  const record = (await running.get('/hiera/shop-web-1/')).body;
  await push(scene, { 'types/role/web.yaml': 'port: 443\n' });
  expect((await running.get('/hiera/shop-web-1/')).body).toEqual({ ...(record as object), port: 443 });
  expect(effectsIn(site)).toEqual(effects);
});

describe('a mistake in one instance', () => {
  const WRONG = `${instanceText('shop', 4)}  oops: [\n`;

  it('pins that instance until it is corrected, while others follow', async () => {
    const scene = await upAndDone();
    const { site, running } = scene;
    const before = await running.get('/stacks/instances/shop/');
    const wrong = { [SHOP]: WRONG, [OFFICE]: instanceText('office', 2), 'types/role/web.yaml': 'port: 443\n' };
    const commit = await push(scene, wrong);
    await running.untilDone(commit, 'office');
    expect(await running.status('shop')).toBe('Invalid');
    expect((await running.get('/stacks/instances/shop/')).body).toEqual(before.body);
    expect((await running.get('/hiera/shop-web-1/port/')).body).toBe(80);
    expect((await running.get('/hiera/office-web-2/port/')).body).toBe(443);
    expect(serversIn(site)).toEqual([...SERVERS.toSpliced(2, 0, 'office-web-2')]);
    await running.untilDone(await push(scene, { [SHOP]: instanceText('shop', 3) }), 'shop');
    expect(serversIn(site)).toContain('shop-web-3');
    expect((await running.get('/hiera/shop-web-1/port/')).body).toBe(443);
  });
});

describe('an instance', () => {
  it('that is deleted is readable until its servers are gone in reverse order', async () => {
    const scene = await upAndDone();
    const { site, running } = scene;
    const before = effectsIn(site).length;
    await push(scene, { [SHOP]: null });
    const seen = new Set<unknown>();
    const poll = async (): Promise<unknown> => {
      const status = await running.status('shop');
      seen.add(status);
      return status;
    };
    await expect.poll(poll, { ...PATIENCE, interval: 1 }).toBe('not_found');
    expect([...seen].filter((status) => status !== 'not_found' && status !== 'Marked for delete')).toEqual([]);
    const order = effectsIn(site).slice(before);
    expect(order.map(({ operation }) => operation)).toEqual(['delete', 'delete', 'delete']);
    expect(order.at(-1)?.server).toBe('shop-db');
    expect(await running.get('/hiera/shop-db/')).toMatchObject({ status: 404 });
    expect((await running.get('/stacks/instances/')).body).toMatchObject([{ name: 'office' }]);
  });

  it('hands its servers over to another one without an action', async () => {
    const scene = await upAndDone();
    const before = effectsIn(scene.site);
    await push(scene, { [SHOP]: null, 'stacks/instances/store.yaml': instanceText('shop') });
    expect(await scene.running.status('store')).toBe('Done');
    expect(await scene.running.status('shop')).toBe('not_found');
    expect(await scene.running.states('store')).toEqual({
      'shop-db': 'done',
      'shop-web-1': 'done',
      'shop-web-2': 'done',
    });
    expect((await scene.running.get('/hiera/shop-db/stackInstance/')).body).toEqual(['store']);
    expect(effectsIn(scene.site)).toEqual(before);
  });
});

it('the history shows what each commit changed, who approved it and when it was done', async () => {
  const site = await createSite(STACKS);
  const none = { percent: 0, least: 0, most: 0 };
  const running = await runController(site, (settings) => ({
    ...settings,
    execution: { ...settings.execution, deleteBudget: none },
  }));
  const first = await headOf(site);
  await running.untilDone(first, 'office', 'shop');
  const scene = { site, running };
  const grown = await push(scene, { [SHOP]: instanceText('shop', 4), 'types/role/web.yaml': 'port: 443\n' });
  const broken = { [OFFICE]: 'oops: [\n', 'tree.yaml': 'name: [\n' };
  const wrong = await site.repository.commit(broken, { message: 'Break it\n\nOn purpose.' });
  const history = async (query = ''): Promise<readonly JsonMap[]> =>
    ((await running.get(`/operations/commits${query}`)).body as { readonly commits: JsonMap[] }).commits;
  await expect
    .poll(async () => (await history())[0], PATIENCE)
    .toMatchObject({
      commit: wrong,
      state: 'refused',
      subject: 'Break it',
      done: null,
      reason: expect.stringContaining('tree.yaml:1'),
    });
  const tree = STACKS['tree.yaml'] ?? null;
  const shrunk = await push(scene, {
    [SHOP]: instanceText('shop', 3),
    [OFFICE]: instanceText('office', 1),
    'tree.yaml': tree,
  });
  const { body: held } = await running.get(`/operations/commits/${shrunk.slice(0, 12)}`);
  expect(held).toMatchObject({ commit: shrunk, base: grown, done: null, approved: false, servers: { deleted: 1 } });
  const [item] = ((await running.get('/operations/held')).body as { readonly held: JsonMap[] }).held;
  await running.post('/operations/approve', { digest: String(item?.digest), reason: 'planned' });
  await expect.poll(async () => (await history())[0]?.done, PATIENCE).toEqual(expect.any(String));

  expect(await history()).toMatchObject([
    { commit: shrunk, approved: true, servers: { created: 0, updated: 0, replaced: 0, deleted: 1 } },
    { commit: wrong },
    { commit: grown, servers: { created: 2, deleted: 0 }, instances: ['office', 'shop'], done: expect.any(String) },
    { commit: first, servers: { created: 5 }, instances: ['office', 'shop'] },
  ]);
  expect(await history('?state=refused')).toHaveLength(1);
  expect(await history('?instance=nothing')).toEqual([]);
  const invalid = await push(scene, { [OFFICE]: 'stackTemplate: none\n' });
  expect((await history('?instance=office'))[0]).toMatchObject({ commit: invalid, servers: { deleted: 0 } });
  expect((await running.get(`/operations/commits/${shrunk}`)).body).toMatchObject({
    approvals: [{ reason: 'planned', instance: 'shop', servers: ['shop-web-4'] }],
    plan: { changes: [{ action: 'delete', resource: 'shop-web-4' }], held: { deletes: 1 } },
  });
  expect((await running.get(`/operations/commits/${grown}`)).body).toMatchObject({
    plan: {
      changes: [{ resource: 'shop-web-3', action: 'create' }, { resource: 'shop-web-4' }],
      configuration: [{ key: 'port', from: 80, to: 443, nodes: 3 }],
    },
  });
  expect((await running.get(`/operations/commits/${wrong}`)).body).toMatchObject({
    body: 'On purpose.',
    plan: { changes: [], problems: [{ file: OFFICE }, { file: 'tree.yaml' }] },
  });
  expect(await running.get('/operations/commits/0000000')).toMatchObject({ status: 404 });
  for (const path of ['/main', '?state=done', '?limit=501'])
    expect(await running.get(`/operations/commits${path}`)).toMatchObject({ status: 400 });
  expect(await running.get('/operations/commits?after=0000000')).toMatchObject({ status: 404 });
});
