// Tests operations on servers that run, have failed or exist already, on a whole controller.
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Settings } from '../../src/model/settings.ts';
import type { FileChanges } from '../support/git-repository.ts';
import { effectsIn, existing, PATIENCE, withProvider } from '../support/running-controller.ts';
import { loseStore } from '../support/scenario-database.ts';
import { approve, heldIn, push, restart, type Scene, SHOP_FILES, untilHeld, untilStatus, upAndDone } from './scene.ts';
import { instanceText, OFFICE, SHOP, STACKS, TEMPLATE, templateText } from './stacks.ts';

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

  it('starts no action at all, not even a delete, until all is resumed', async () => {
    const scene = await upAndDone();
    const effects = effectsIn(scene.site);
    expect((await scene.running.post('/operations/suspend', {})).status).toBe(200);
    await push(scene, { [SHOP]: instanceText('shop', 3), [OFFICE]: instanceText('office', 2) });
    expect([await scene.running.status('office'), await scene.running.status('shop')]).toEqual([
      'Suspended',
      'Suspended',
    ]);
    expect((await scene.running.post('/operations/resume', { instance: 'shop' })).status).toBe(409);
    await restart(scene);
    expect(await scene.running.states('shop')).toMatchObject({ 'shop-web-4': 'marked for delete' });
    expect(effectsIn(scene.site)).toEqual(effects);
    expect((await scene.running.post('/operations/resume', {})).status).toBe(200);
    await untilStatus(scene, 'shop', 'Done');
    await untilStatus(scene, 'office', 'Done');
    expect(Object.keys(existing(scene.site))).toContain('office-web-2');
    expect(Object.keys(existing(scene.site))).not.toContain('shop-web-4');
  });

  it('ends by itself at its time', async () => {
    const scene = await upAndDone();
    const until = new Date(Date.now() + 8_000).toISOString();
    const { body } = await scene.running.post('/operations/suspend', { instance: 'shop', until });
    expect(body).toMatchObject({ message: `shop is suspended until ${until}` });
    await push(scene, { [SHOP]: instanceText('shop', 5) });
    expect(await scene.running.status('shop')).toBe('Suspended');
    await untilStatus(scene, 'shop', 'Done');
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until));
    expect(Object.keys(existing(scene.site))).toContain('shop-web-5');
    expect((await scene.running.post('/operations/resume', { instance: 'shop' })).status).toBe(409);
  });

  it('is refused for a time that is over, and for an instance that is not there', async () => {
    const scene = await upAndDone();
    expect(await scene.running.post('/operations/suspend', { until: '2020-01-01T00:00:00Z' })).toMatchObject({
      status: 400,
      body: { message: '"until" is 2020-01-01T00:00:00Z, which is over: give a time that is still to come' },
    });
    expect(await scene.running.post('/operations/suspend', { instance: 'shopp' })).toMatchObject({
      status: 404,
      body: { message: 'There is no stack instance "shopp"; did you mean "shop"?' },
    });
    expect(await scene.running.status('shop')).toBe('Done');
  });
});

describe('retry', () => {
  async function failedIn(scene: Scene, instance: string): Promise<string[]> {
    const states = await scene.running.states(instance);
    return Object.keys(states).filter((server) => states[server] === 'failed');
  }

  async function retry(scene: Scene, target: JsonMap): Promise<number> {
    return (await scene.running.post('/operations/retry', target)).status;
  }

  it('tries again at once what has failed, and nothing else', async () => {
    const scene = await upAndDone();
    expect(await retry(scene, { all: true })).toBe(409);
    // Of so many, two fail at their first try for certain, and all succeed at some later one.
    await restart(scene, withProvider({ failRate: 0.6 }, PATIENT));
    await push(scene, { [SHOP]: instanceText('shop', 24), [OFFICE]: instanceText('office', 20) });
    await untilStatus(scene, 'shop', 'Failed');
    await untilStatus(scene, 'office', 'Failed');
    const [failed, office] = [await failedIn(scene, 'shop'), await failedIn(scene, 'office')];
    const [resource = ''] = failed;
    const isDone = async (): Promise<unknown> => {
      await retry(scene, { resource });
      return (await scene.running.states('shop'))[resource];
    };
    await expect.poll(isDone, PATIENCE).toBe('done');
    expect(await failedIn(scene, 'shop')).toEqual(failed.slice(1));
    expect(await retry(scene, { resource })).toBe(409);
    expect(await retry(scene, { provider: 'other' })).toBe(404);
    const untilDone = async (instance: string, target: JsonMap): Promise<void> => {
      const status = async (): Promise<unknown> => {
        await retry(scene, target);
        return await scene.running.status(instance);
      };
      await expect.poll(status, PATIENCE).toBe('Done');
    };
    await untilDone('shop', { instance: 'shop' });
    expect(await failedIn(scene, 'office')).toEqual(office);
    await untilDone('office', { provider: 'lab' });
  });
});

/** Waits until so many servers of each instance wait for a person. */
async function untilFound({ running }: Scene, counts: Readonly<Record<string, number>>): Promise<void> {
  const found = async () =>
    Object.fromEntries((await running.recovery()).instances.map(({ instance, waiting }) => [instance, waiting.length]));
  await expect.poll(found, PATIENCE).toEqual(counts);
}

describe('a store that was lost', () => {
  it('creates, changes and deletes nothing, and one adopt brings the desired state back', async () => {
    const scene = await upAndDone();
    const [before, records] = [existing(scene.site), await scene.running.get('/hiera/all')];
    await scene.running.stop();
    await loseStore(scene.site);
    const effects = effectsIn(scene.site);
    await restart(scene);
    await untilFound(scene, { shop: 5, office: 2 });
    expect(Object.keys((await scene.running.get('/hiera/all')).body as JsonMap)).toEqual(
      Object.keys(records.body as JsonMap),
    );
    expect(await scene.running.post('/operations/adopt', { all: true })).toMatchObject({
      status: 200,
      body: { message: 'Adopted: 7' },
    });
    await scene.running.endRecovery();
    await untilStatus(scene, 'shop', 'Done');
    await untilStatus(scene, 'office', 'Done');
    expect(effectsIn(scene.site)).toEqual(effects);
    expect(existing(scene.site)).toEqual(before);
    expect((await scene.running.post('/operations/adopt', { all: true })).status).toBe(409);
    await scene.running.untilDone(await push(scene, { [SHOP]: instanceText('shop', 3) }), 'shop');
    expect(Object.keys(existing(scene.site))).toEqual(Object.keys(before).filter((name) => name !== 'shop-web-4'));
  });

  it('is brought back instance by instance, or server by server; what differs is drifted and left alone', async () => {
    const scene = await upAndDone();
    await scene.running.stop();
    await loseStore(scene.site);
    await scene.site.repository.commit({ [SHOP]: instanceText('shop', 3), [TEMPLATE]: templateText('large') });
    const effects = effectsIn(scene.site);
    await restart(scene);
    await untilFound(scene, { shop: 4, office: 2 });
    await scene.running.endRecovery();
    expect((await scene.running.post('/operations/adopt', { instance: 'office' })).body).toMatchObject({
      message: 'Adopted: 2',
    });
    await untilStatus(scene, 'office', 'Drifted');
    expect(await scene.running.states('office')).toEqual({ 'office-db': 'done', 'office-web-1': 'drifted' });
    expect((await scene.running.post('/operations/adopt', { resource: 'shop-db' })).status).toBe(200);
    await expect
      .poll(() => scene.running.states('shop'), PATIENCE)
      .toEqual({
        'shop-db': 'done',
        'shop-web-1': 'blocked',
        'shop-web-2': 'blocked',
        'shop-web-3': 'blocked',
      });
    expect(effectsIn(scene.site)).toEqual(effects);
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

  it('that fail three times are left behind by a commit that takes the change back or mends it', async () => {
    const scene = await upAndDone(SIX);
    await restart(scene, oneAtATime(1));
    await push(scene, { 'stacks/templates/one.yaml': oneText('large') });
    await untilHeld(scene, 'failures');
    await restart(scene, oneAtATime(0));
    const names = Array.from({ length: 6 }, (_, index) => `s${index}`);
    await scene.running.untilDone(await push(scene, { 'stacks/templates/one.yaml': oneText('medium') }), ...names);
    expect(await heldIn(scene)).toEqual([]);
    expect(sizesIn(scene, 's').filter((size) => size === 'medium')).toHaveLength(6);
  });

  /** How many members of the group were away at once, at most, and how long each pause was, in milliseconds. */
  function rolloutOf(lines: readonly JsonMap[], group: string): { most: number; pauses: number[] } {
    const away = new Set<unknown>();
    const pauses: number[] = [];
    let [most, lastBack] = [0, 0];
    for (const { msg, server, to, time } of lines) {
      if (msg !== 'state' || !String(server).startsWith(group)) continue;
      if (to === 'updating' && !away.has(server)) {
        if (lastBack > 0) pauses.push(Date.parse(String(time)) - lastBack);
        away.add(server);
      } else if (to === 'done') {
        away.delete(server);
        lastBack = Date.parse(String(time));
      }
      most = Math.max(most, away.size);
    }
    return { most, pauses };
  }

  function paced(size: string, pace: string): string {
    return templateText(size).replace('count: "<<count>>"', `count: "<<count>>"\n      ${pace}`);
  }

  it.each([
    ['1', 1],
    ['50%', 2],
    ['3', 3],
  ])('of a group keep to max_unavailable: "%s", also where many tries fail', async (written, most) => {
    const pace = `max_unavailable: "${written}"`;
    const scene = await upAndDone({ ...SHOP_FILES, [TEMPLATE]: paced('small', pace) });
    const tries = { attempts: 50, firstSeconds: 0.01, maxSeconds: 0.02 };
    await restart(scene, withProvider({ failRate: 0.4, updateMs: 20 }, tries));
    await scene.running.untilDone(await push(scene, { [TEMPLATE]: paced('large', pace) }), 'shop', 'office');
    expect(rolloutOf(scene.running.lines, 'shop-web').most).toBe(most);
    expect(sizesIn(scene, 'shop-web')).toEqual(Array(4).fill('large'));
  });

  it('of a group rest for pause_seconds after each', async () => {
    const scene = await upAndDone({ ...STACKS, [TEMPLATE]: paced('small', 'pause_seconds: "1"') });
    const begun = scene.running.lines.length;
    await scene.running.untilDone(await push(scene, { [TEMPLATE]: paced('large', 'pause_seconds: "1"') }), 'shop');
    const { most, pauses } = rolloutOf(scene.running.lines.slice(begun), 'shop-web');
    expect(most).toBe(1);
    expect(pauses).toHaveLength(1);
    // The log is a little later than what it tells of.
    expect(pauses[0]).toBeGreaterThanOrEqual(900);
  });

  it('of a group stop with the first that gives up', async () => {
    const scene = await upAndDone();
    await restart(scene, withProvider({ failRate: 1 }, PATIENT));
    await push(scene, { [TEMPLATE]: templateText('large') });
    const states = async (): Promise<unknown> => Object.values(await scene.running.states('shop')).sort();
    await expect.poll(states, PATIENCE).toEqual(['done', 'failed', 'pending', 'pending', 'pending']);
    await push(scene, { 'README.md': 'unrelated' });
    expect(await states()).toEqual(['done', 'failed', 'pending', 'pending', 'pending']);
    expect(sizesIn(scene, 'shop-web')).toEqual(Array(4).fill('small'));
    await restart(scene, withProvider({ failRate: 0 }, PATIENT));
    // A restart alone ends no wait.
    expect(await states()).toEqual(['done', 'failed', 'pending', 'pending', 'pending']);
    expect((await scene.running.post('/operations/retry', { instance: 'shop' })).status).toBe(200);
    await untilStatus(scene, 'shop', 'Done');
    expect(sizesIn(scene, 'shop-web')).toEqual(Array(4).fill('large'));
  });
});
