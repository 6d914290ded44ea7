// Tests dry runs on a whole controller: the answer is complete, and nothing changes.
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';

import type { FileChanges } from '../support/git-repository.ts';
import { existing } from '../support/running-controller.ts';

import { headOf } from './scene.ts';
import { instanceText, SHOP, STACKS } from './stacks.ts';
import { upAndWriting, type Writing, type WritingScene } from './writing.ts';

/** shop-db and shop-web-1 to shop-web-8; office-db and office-web-1. Five may go without a yes. */
const SHOP_FILES: FileChanges = { ...STACKS, [SHOP]: instanceText('shop', 8) };

interface Tried {
  readonly status: number;
  readonly diff: string;
  /** `change` by server; what is held with what happens once it is approved. */
  readonly servers: Readonly<Record<string, string>>;
}

async function upAndDone(): Promise<WritingScene> {
  const scene = await upAndWriting(() => ({}), SHOP_FILES);
  await scene.running.untilDone(scene.base, 'office', 'shop');
  return scene;
}

async function tryWrite(scene: WritingScene, path: string, writing: Writing): Promise<Tried> {
  const head = await headOf(scene.site);
  const { status, body } = await scene.write(`${path}${path.includes('?') ? '&' : '?'}dry_run=true`, writing);
  expect(await headOf(scene.site)).toBe(head);
  expect(body).toMatchObject({ return_code: 200, dry_run: true, message: 'Dry run: nothing was written' });
  const { diff, servers } = body as { diff: string; servers: Readonly<Record<string, string>>[] };
  const told = servers.map(({ server = '', change, once_approved }) => {
    return [server, once_approved === undefined ? change : `${change}: ${once_approved}`];
  });
  return { status, diff, servers: Object.fromEntries(told) };
}

function shop(parameters: JsonMap): JsonMap {
  return { stackTemplate: 'web', parameters: { prefix: 'shop', ...parameters } };
}

describe('a dry run', () => {
  it('tells of each write what it would do, changes nothing, and its diff is what the write commits', async () => {
    const scene = await upAndDone();
    const before = existing(scene.site);
    const instance = '/stacks/instances/shop/?force=true';

    const grown = await tryWrite(scene, instance, { body: shop({ count: '9' }) });
    expect(grown).toMatchObject({ status: 200, servers: { 'shop-web-9': 'created' } });
    expect(grown.diff).toMatch(/^--- a\/stacks\/instances\/shop\.yaml\n\+\+\+ b\/[\s\S]*^-.*"8"[\s\S]*^\+.*"9"/m);

    const shrunk = await tryWrite(scene, instance, { body: shop({ count: '6' }) });
    expect(shrunk.servers).toEqual({ 'shop-web-7': 'deleted', 'shop-web-8': 'deleted' });

    const port = await tryWrite(scene, '/types/role/', { body: { name: 'web', port: 8080 } });
    expect(port.diff).toMatch(/^-port: 80\n\+port: 8080$/m);
    expect(Object.values(port.servers)).toEqual(Array.from({ length: 9 }, () => 'record'));

    const template = (await scene.running.get('/stacks/templates/web/')).body as JsonMap;
    const larger = JSON.parse(JSON.stringify(template).replace('"small"', '"large"'));
    const resized = await tryWrite(scene, '/types/stack-template/', { body: larger });
    expect(Object.values(resized.servers)).toEqual(Array.from({ length: 9 }, () => 'updated'));

    const zone = await tryWrite(scene, '/types/zone/', { body: { name: 'edge' } });
    expect(zone.servers).toEqual({});
    expect(zone.diff).toContain('--- /dev/null\n+++ b/types/zone/edge.yaml\n');

    const office = await tryWrite(scene, '/stacks/instances/office/', { method: 'DELETE' });
    expect(office.servers).toEqual({ 'office-db': 'deleted', 'office-web-1': 'deleted' });
    expect(office.diff).toContain('deleted file mode 100644\n');

    expect(await tryWrite(scene, instance, { body: shop({ count: '8' }) })).toEqual({
      status: 200,
      diff: '',
      servers: {},
    });
    expect(existing(scene.site)).toEqual(before);

    await scene.write(instance, { body: shop({ count: '9' }) });
    const committed = await scene.site.repository.git('diff', '--full-index', `${scene.base}..main`);
    const withoutIds = (text: string): string => text.replaceAll(/^index .*\n/gm, '').replaceAll(/ @@.*$/gm, ' @@');
    expect(grown.diff.trim()).toBe(withoutIds(committed).trim());
  });
});
