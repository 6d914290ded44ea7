// Tests operations on servers that run, have failed or exist already, on a whole controller.
import { describe, expect, it } from 'vitest';
import type { Settings } from '../../src/model/settings.ts';
import type { FileChanges } from '../support/git-repository.ts';
import { existing, PATIENCE, withProvider } from '../support/running-controller.ts';
import { approve, heldIn, push, restart, type Scene, untilHeld, untilStatus, upAndDone } from './scene.ts';
import { instanceText, OFFICE, STACKS, TEMPLATE, templateText } from './stacks.ts';

/** No server is tried again within the test, unless somebody asks for it. */
const PATIENT = { attempts: 1, failedSeconds: 3600 };

function sizesIn(scene: Scene, prefix: string): unknown[] {
  const servers = Object.entries(existing(scene.site)).filter(([name]) => name.startsWith(prefix));
  return servers.map(([, properties]) => properties?.size);
}

describe('suspend', () => {
  it('starts no action of one instance, however long, until a person resumes', async () => {
    const scene = await upAndDone();
    expect(await scene.running.post('/operations/suspend', { instance: 'shop', reason: 'sale' })).toMatchObject({
      status: 200,
      body: { message: 'shop is suspended until a person resumes it' },
    });
    expect(await scene.running.status('shop')).toBe('Suspended');
    const commit = await push(scene, { [TEMPLATE]: templateText('large') });
    await scene.running.untilDone(commit, 'office');
    await restart(scene);
    await scene.running.untilDone(await push(scene, { [OFFICE]: instanceText('office', 2) }), 'office');
    expect(await scene.running.status('shop')).toBe('Suspended');
    expect([sizesIn(scene, 'shop-web'), sizesIn(scene, 'office-web')]).toEqual([
      ['small', 'small', 'small', 'small'],
      ['large', 'large'],
    ]);
    expect((await scene.running.post('/operations/resume', { instance: 'office' })).status).toBe(409);
    expect(await scene.running.post('/operations/resume', { instance: 'shop' })).toMatchObject({
      status: 200,
      body: { message: 'shop is resumed' },
    });
    await untilStatus(scene, 'shop', 'Done');
    expect(sizesIn(scene, 'shop-web')).toEqual(['large', 'large', 'large', 'large']);
  });
});

describe('updates', () => {
  /** Six instances of one server each, so that no group makes the others wait. */
  const SIX: FileChanges = {
    ...STACKS,
    'stacks/templates/one.yaml': oneText('small'),
    ...Object.fromEntries(
      Array.from({ length: 6 }, (_, index) => [`stacks/instances/s${index}.yaml`, 'stackTemplate: one\n']),
    ),
  };

  function oneText(size: string): string {
    return `resources: { a: { type: "Platform::Server", properties: { size: ${size} } } }\n`;
  }

  function oneAtATime(failRate: number): (settings: Settings) => Settings {
    return (settings) => {
      const changed = withProvider({ failRate }, PATIENT)(settings);
      return { ...changed, execution: { ...changed.execution, concurrency: 1 } };
    };
  }

  it('that fail three times hold the rest, which goes on when a person says so', async () => {
    const scene = await upAndDone(SIX);
    await restart(scene, oneAtATime(1));
    const commit = await push(scene, { 'stacks/templates/one.yaml': oneText('large') });
    const item = await untilHeld(scene, 'failures');
    expect(item).toMatchObject({ digest: `failures-${commit}`, instance: null });
    const names = Array.from({ length: 6 }, (_, index) => `s${index}`);
    const states = async (): Promise<unknown[]> =>
      (await Promise.all(names.map((name) => scene.running.states(name)))).flatMap((one) => Object.values(one)).sort();
    // The next one may have begun before the last failure was recorded.
    await expect.poll(async () => (await scene.running.logged('state')).to, PATIENCE).toBe('failed');
    await push(scene, { 'README.md': 'unrelated' });
    const [held] = await heldIn(scene);
    const count = held?.resources.length ?? 0;
    expect([3, 4]).toContain(count);
    expect(held?.reason).toBe(`${count} of 6 updates of commit ${commit} have failed, so the rest waits`);
    const baseline = [...Array(count).fill('failed'), ...Array(6 - count).fill('pending')];
    expect(await states()).toEqual(baseline);
    // Those that wait for the failed ones are no progress either.
    for (const name of names) expect(await scene.running.status(name)).toBe('Failed');
    const failed = held?.resources;
    await restart(scene, oneAtATime(1));
    // The next start tries again what has failed, and still nothing else.
    expect((await scene.running.post('/operations/retry', { all: true })).status).toBeLessThan(500);
    await expect.poll(states, PATIENCE).toEqual(baseline);
    expect((await heldIn(scene))[0]?.resources).toEqual(failed);
    expect(await approve(scene, item.digest)).toBe(200);
    await expect.poll(states, PATIENCE).toEqual(Array(6).fill('failed'));
    expect(await heldIn(scene)).toEqual([]);
  });
});
