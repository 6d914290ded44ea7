// Tests the end states of a whole controller after pushes of many kinds, never the steps to them.
import { describe, expect, it } from 'vitest';
import { effectsIn, existing, PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { instanceText, OFFICE, SERVERS, SHOP, STACKS, TEMPLATE, templateText } from './stacks.ts';

interface Scene {
  readonly site: Site;
  readonly running: RunningController;
}

/** A controller that has brought the desired state up. */
async function upAndDone(): Promise<Scene> {
  const site = await createSite(STACKS);
  const running = await runController(site);
  await running.untilDone(await headOf(site), 'office', 'shop');
  return { site, running };
}

function headOf({ repository }: Site): Promise<string> {
  return repository.head();
}

/** Pushes, and resolves once the commit is followed. */
async function push({ site, running }: Scene, files: Parameters<Site['repository']['commit']>[0]): Promise<string> {
  const commit = await site.repository.commit(files);
  await running.untilDone(commit);
  return commit;
}

function serversIn(site: Site): string[] {
  return Object.keys(existing(site));
}

it('a first start brings everything up, dependencies first', async () => {
  const { site, running } = await upAndDone();
  expect(serversIn(site)).toEqual(SERVERS);
  expect(await running.states('shop')).toEqual({ 'shop-db': 'done', 'shop-web-1': 'done', 'shop-web-2': 'done' });
  expect(await running.get('/stacks/instances/')).toMatchObject({
    status: 200,
    body: [{ name: 'office' }, { name: 'shop', resources: { db: { 'shop-db': { state: 'done' } } } }],
  });
  const order = effectsIn(site).map(({ server }) => server);
  expect(order.indexOf('shop-db')).toBeLessThan(order.indexOf('shop-web-1'));
  expect(running.controller.ready()).toBe(true);
  expect((await fetch(`http://127.0.0.1:${running.controller.management.port}/readyz`)).status).toBe(200);
});

it('a group grows and shrinks', async () => {
  const scene = await upAndDone();
  await scene.running.untilDone(await push(scene, { [SHOP]: instanceText('shop', 4) }), 'shop');
  expect(serversIn(scene.site)).toEqual([...SERVERS, 'shop-web-3', 'shop-web-4']);
  await scene.running.untilDone(await push(scene, { [SHOP]: instanceText('shop', 2) }), 'shop');
  expect(serversIn(scene.site)).toEqual(SERVERS);
  expect(Object.keys(await scene.running.states('shop'))).toEqual(['shop-db', 'shop-web-1', 'shop-web-2']);
});

it('a change of a template reaches every instance, and no server that it leaves alone', async () => {
  const scene = await upAndDone();
  const before = effectsIn(scene.site).length;
  await scene.running.untilDone(await push(scene, { [TEMPLATE]: templateText('large') }), 'office', 'shop');
  const updates = effectsIn(scene.site).slice(before);
  expect(updates.map(({ server, operation }) => `${operation} ${server}`).sort()).toEqual([
    'update office-web-1',
    'update shop-web-1',
    'update shop-web-2',
  ]);
  expect(existing(scene.site)).toMatchObject({ 'office-web-1': { size: 'large' }, 'shop-web-2': { size: 'large' } });
});

it('configuration reaches records without an action', async () => {
  const scene = await upAndDone();
  const before = effectsIn(scene.site);
  const record = (await scene.running.get('/hiera/shop-web-1/')).body;
  await push(scene, { 'types/role/web.yaml': 'port: 443\n' });
  expect((await scene.running.get('/hiera/shop-web-1/')).body).toEqual({ ...(record as object), port: 443 });
  expect(effectsIn(scene.site)).toEqual(before);
});

describe('a mistake in one instance', () => {
  const WRONG = `${instanceText('shop', 4)}  oops: [\n`;

  it('keeps that one as it is, servers and records, while others move; corrected, it moves too', async () => {
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

  it('is the same after a restart', async () => {
    const scene = await upAndDone();
    await push(scene, { [SHOP]: WRONG, 'types/role/web.yaml': 'port: 443\n' });
    const before = await scene.running.get('/stacks/instances/shop/');
    await scene.running.stop();
    const again = await runController(scene.site);
    await again.untilDone(await headOf(scene.site), 'office');
    expect(await again.status('shop')).toBe('Invalid');
    expect((await again.get('/stacks/instances/shop/')).body).toEqual(before.body);
    expect((await again.get('/hiera/shop-web-1/port/')).body).toBe(80);
    expect(serversIn(scene.site)).toEqual(SERVERS);
    const corrected = await push({ site: scene.site, running: again }, { [SHOP]: instanceText('shop', 3) });
    await again.untilDone(corrected, 'shop');
    expect(serversIn(scene.site)).toContain('shop-web-3');
  });
});

describe('an instance', () => {
  it('that is deleted answers until its servers are gone, in the reverse order, and is not found then', async () => {
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

  it('that moves to another folder stays as it is', async () => {
    const scene = await upAndDone();
    const before = effectsIn(scene.site);
    const rows = await scene.running.get('/stacks/instances/shop/');
    await push(scene, { [SHOP]: null, 'stacks/instances/eu/frankfurt/shop.yaml': instanceText('shop') });
    expect(await scene.running.get('/stacks/instances/shop/')).toMatchObject({ status: 200, body: rows.body });
    expect(await scene.running.status('shop')).toBe('Done');
    expect(effectsIn(scene.site)).toEqual(before);
  });

  it('hands its servers to another without an action', async () => {
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

describe('a commit that is not taken changes nothing:', () => {
  async function expectNotTaken(scene: Scene, why: string): Promise<void> {
    const { site, running } = scene;
    const newest = await headOf(site);
    const said = (): string => running.lines.map(({ commit, reason }) => `${commit} ${reason}`).join('\n');
    await expect.poll(said, PATIENCE).toMatch(new RegExp(`^${newest} .*${why}`, 'm'));
    expect((await running.get('/tree/')).headers['x-treeline-commit']).not.toBe(newest);
    expect([await running.status('office'), await running.status('shop')]).toEqual(['Done', 'Done']);
    expect(serversIn(site)).toEqual(SERVERS);
  }

  it('one that empties the repository; the next one with everything in it goes on', async () => {
    const scene = await upAndDone();
    const paths = (await scene.site.repository.git('ls-tree', '-r', '--name-only', 'main')).split('\n');
    const contents = await Promise.all(paths.map((path) => scene.site.repository.git('show', `main:${path}`)));
    await scene.site.repository.commit(Object.fromEntries(paths.map((path) => [path, null])));
    await expectNotTaken(scene, 'no file of the layout would be left');
    const back = Object.fromEntries(paths.map((path, index) => [path, `${contents[index]}\n`]));
    await scene.running.untilDone(await scene.site.repository.commit(back), 'office', 'shop');
  });

  it('one that leaves no instance', async () => {
    const scene = await upAndDone();
    await scene.site.repository.commit({ [SHOP]: null, [OFFICE]: null });
    await expectNotTaken(scene, 'no stack instance would be left');
  });

  it('one with a broken tree, whatever else is in it', async () => {
    const scene = await upAndDone();
    await scene.site.repository.commit({ 'tree.yaml': 'name: [\n', [SHOP]: instanceText('shop', 4) });
    await expectNotTaken(scene, 'tree.yaml:1:7');
    const corrected = await scene.site.repository.commit({ 'tree.yaml': 'name: global\ntype: common\n' });
    await scene.running.untilDone(corrected, 'shop');
    expect(serversIn(scene.site)).toEqual([...SERVERS, 'shop-web-3', 'shop-web-4']);
  });

  it('one that rewrites history; back on it, things go on', async () => {
    const scene = await upAndDone();
    const { repository } = scene.site;
    const followed = await headOf(scene.site);
    await repository.commit({ ...STACKS, [SHOP]: instanceText('shop', 1) }, { parents: [] });
    await expectNotTaken(scene, 'the history was rewritten');
    const next = await repository.commit({ [SHOP]: instanceText('shop', 3) }, { parents: [followed] });
    await scene.running.untilDone(next, 'shop');
    expect(serversIn(scene.site)).toContain('shop-web-3');
  });

  it('one that rewrites history while the controller is down', async () => {
    const scene = await upAndDone();
    await scene.running.stop();
    await scene.site.repository.commit({ ...STACKS, [SHOP]: instanceText('shop', 1) }, { parents: [] });
    await expectNotTaken({ site: scene.site, running: await runController(scene.site) }, 'the history was rewritten');
  });
});

it('a hand-written clientcert has the time of the commit that changed it last', async () => {
  const scene = await upAndDone();
  const timeOf = async (): Promise<unknown> => (await scene.running.get('/hiera/printer/last_stack_update/')).body;
  const first = await timeOf();
  await push(scene, { [SHOP]: instanceText('shop', 3) });
  expect(await timeOf()).toBe(first);
  const commit = await push(scene, { 'types/clientcert/printer.yaml': 'paper: a5\n' });
  const seconds = Number(await scene.site.repository.git('show', '-s', '--format=%ct', commit));
  expect(await timeOf()).toBe(`${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`);
  expect(await timeOf()).not.toBe(first);
  await scene.running.stop();
  const again = await runController(scene.site);
  await again.untilDone(commit);
  expect((await again.get('/hiera/printer/')).body).toMatchObject({ paper: 'a5', stackInstance: [] });
  expect((await again.get('/hiera/printer/last_stack_update/')).body).not.toBe(first);
});
