// DELETE of an instance that is going already, and POST of one: what an earlier commit took away.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { existing, withProvider } from '../support/running-controller.ts';
import { heldIn, push, SHOP_FILES, twoServers, untilServers, untilStatus, upAndDone } from './scene.ts';
import { SHOP } from './stacks.ts';

const MARKED = { status: 202, body: { message: 'Stack instance shop is marked for delete', return_code: 202 } };
const BODY = { stackTemplate: 'web', parameters: { prefix: 'shop', count: '4' } };

describe('an instance whose removal is held', () => {
  it('goes when an administrator deletes it: there is nothing to commit, but something to approve', async () => {
    const scene = await upAndDone();
    const commit = await push(scene, { [SHOP]: null });
    expect(await heldIn(scene)).toMatchObject([{ instance: 'shop', kind: 'deletes' }]);
    expect(await scene.running.request('/stacks/instances/shop', { method: 'DELETE' })).toMatchObject(MARKED);
    await untilServers(scene, ['office-db', 'office-web-1']);
    await untilStatus(scene, 'shop', 'not_found');
    expect(await heldIn(scene)).toEqual([]);
    expect(await scene.site.repository.head()).toBe(commit);
    expect(await scene.running.request('/stacks/instances/shop', { method: 'DELETE' })).toMatchObject({
      status: 404,
      body: { message: 'There is no stack instance "shop"' },
    });
  });

  it('stays when it is posted again, without force', async () => {
    const scene = await upAndDone();
    const before = existing(scene.site);
    await push(scene, { [SHOP]: null });
    expect(await scene.running.post('/stacks/instances/shop', BODY)).toMatchObject({ status: 201 });
    expect(await heldIn(scene)).toEqual([]);
    await untilStatus(scene, 'shop', 'Done');
    expect(existing(scene.site)).toEqual(before);
  });
});

describe('an instance whose DELETE the repository refuses', () => {
  it('is not approved to go with the commit of somebody else', async () => {
    const scene = await upAndDone();
    const file = join(scene.site.repository.path, 'hooks', 'pre-receive');
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, '#!/bin/sh\necho "not today" >&2\nexit 1\n', { mode: 0o755 });
    expect(await scene.running.request('/stacks/instances/shop', { method: 'DELETE' })).toMatchObject({
      status: 409,
      body: { error: 'push_refused' },
    });
    await rm(file);
    await push(scene, { [SHOP]: null });
    expect(await heldIn(scene)).toMatchObject([{ instance: 'shop', kind: 'deletes' }]);
  });
});

describe('an instance that is marked for delete', () => {
  it('comes back when it is posted again, without force', async () => {
    const slow = withProvider({ deleteMs: 300 });
    const scene = await upAndDone(SHOP_FILES, (settings) => slow(twoServers(settings)));
    expect(await scene.running.request('/stacks/instances/shop', { method: 'DELETE' })).toMatchObject(MARKED);
    expect(await scene.running.status('shop')).toBe('Marked for delete');
    expect(await scene.running.request('/stacks/instances/shop', { method: 'DELETE' })).toMatchObject(MARKED);
    expect(await scene.running.post('/stacks/instances/shop', BODY)).toMatchObject({ status: 201 });
    expect(await scene.running.post('/stacks/instances/shop', BODY)).toMatchObject({
      status: 409,
      body: { message: 'The stack instance "shop" exists already; force=true updates it' },
    });
    await untilStatus(scene, 'shop', 'Done');
    const servers = ['office-db', 'office-web-1', 'shop-db', 'shop-web-1', 'shop-web-2', 'shop-web-3', 'shop-web-4'];
    await untilServers(scene, servers);
    const log = await scene.site.repository.git('log', '--format=%s', 'main');
    expect(log.split('\n').slice(0, 2)).toEqual(['Set stack instance shop', 'Delete stack instance shop']);
  });
});
