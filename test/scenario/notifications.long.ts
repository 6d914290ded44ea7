// What a subscriber over real HTTPS is told by a running controller: over a hold, a restart while the subscriber is away, and an approval.
import { expect, it } from 'vitest';
import type { Settings } from '../../src/model/settings.ts';
import type { SentNotification } from '../../src/service/answers.ts';
import { startFakeSubscriber } from '../support/fake-subscriber.ts';
import { PATIENCE } from '../support/running-controller.ts';
import { headOf, restart, SHOP_FILES, twoServers, untilHeld, upAndDone } from './scene.ts';
import { instanceText, SHOP } from './stacks.ts';

it('a subscriber gets the start and end of each cause once, also after an outage', async () => {
  const subscriber = await startFakeSubscriber();
  const settings = (site: Settings): Settings => ({
    ...twoServers(site),
    id: 'eu',
    notifications: [{ ...subscriber.target, kinds: ['held', 'commit', 'done'] }],
  });
  const told = (): readonly string[] => subscriber.received.map(({ event }) => `${event.type} ${event.subject}`);
  const scene = await upAndDone(SHOP_FILES, settings);
  await expect.poll(told, PATIENCE).toHaveLength(2);
  expect(told().toSorted()).toEqual(['treeline.instance.done office', 'treeline.instance.done shop']);

  subscriber.script = (response) => void response.writeHead(503).end();
  const commit = await scene.site.repository.commit({ [SHOP]: instanceText('shop', 1) });
  const { digest, reason } = await untilHeld(scene, 'deletes');
  await expect.poll(() => subscriber.received.length, PATIENCE).toBeGreaterThan(2);
  expect(new Set(told().slice(2))).toEqual(new Set([`treeline.commit.followed ${commit}`]));
  await restart(scene);
  subscriber.script = (response) => void response.writeHead(204).end();
  await expect.poll(() => told().at(-1), PATIENCE).toBe('treeline.held.firing held:shop');

  const answer = await scene.running.post('/operations/approve', { digest });
  expect(answer.status).toBe(200);
  // What needs an operator is looked at apart from the servers, so that either may be told first.
  const ends = ['treeline.held.resolved held:shop', 'treeline.instance.done shop'];
  await expect.poll(() => told().slice(-2).toSorted(), PATIENCE).toEqual(ends);
  const once = [...new Map(subscriber.received.map(({ id, event }) => [id, event])).values()];
  const names = once.map(({ type, subject }) => `${type} ${subject}`).slice(2);
  const begins = [`treeline.commit.followed ${commit}`, 'treeline.held.firing held:shop'];
  expect([...names.slice(0, 2), ...names.slice(2).toSorted()]).toEqual([...begins, ...ends]);
  const dataOf = (type: string) => once.findLast((event) => event.type === type)?.data;
  expect(once[3]).toMatchObject({ specversion: '1.0', source: '/treeline/eu' });
  expect(dataOf('treeline.held.firing')).toMatchObject({
    kind: 'held',
    reason: `${reason}; an approval deletes shop-web-2, shop-web-3, shop-web-4`,
    instances: ['shop'],
    servers: { count: 3 },
    action: expect.stringMatching(`^treeline approve ${digest}; `),
  });
  expect(dataOf('treeline.instance.done')).toMatchObject({
    instance: 'shop',
    commit: await headOf(scene.site),
    servers: 2,
  });
  const sent = async (): Promise<readonly SentNotification[]> =>
    ((await scene.running.get('/operations/notifications')).body as { notifications: SentNotification[] })
      .notifications;
  const delivered = async (): Promise<number> => (await sent()).filter(({ state }) => state === 'delivered').length;
  await expect.poll(delivered, PATIENCE).toBe(6);
  const followed = (await sent()).filter(({ type }) => type === 'treeline.commit.followed');
  expect(followed.map(({ answer }) => answer)).toEqual([...Array(followed.length - 1).fill('503'), '204']);
  expect(followed.length).toBeGreaterThan(1);
  expect(new Set(followed.map(({ id }) => id)).size).toBe(1);
});
