// The events of an instance on the whole controller, streamed over a restart.
import { expect, it } from 'vitest';
import type { InstanceEvents } from '../../src/service/answers.ts';
import { readStream } from '../support/event-stream.ts';
import { PATIENCE } from '../support/running-controller.ts';
import { push, restart, type Scene, untilStatus, upAndDone } from './scene.ts';
import { instanceText, OFFICE } from './stacks.ts';

async function eventsOf({ running }: Scene, instance: string, after = 0): Promise<InstanceEvents['events']> {
  const { status, body } = await running.get(`/stacks/instances/${instance}/events?after=${after}&limit=1000`);
  expect(status).toBe(200);
  return (body as unknown as InstanceEvents).events;
}

it('an event stream follows a commit, ends with the controller, and continues after its restart', async () => {
  const scene = await upAndDone();
  const { site } = scene;
  const open = (path = '/events', headers = {}) =>
    readStream({ port: scene.running.controller.api.port, ca: site.ca }, site.administrator, path, headers);
  const [all, office] = [await open(), await open('/events?instance=office')];
  const commit = await push(scene, { [OFFICE]: instanceText('office', 2) });
  await untilStatus(scene, 'office', 'Done');
  await expect.poll(() => all.data('commit').at(-1), PATIENCE).toEqual({ commit });
  const expected = await eventsOf(scene, 'office', Number(all.messages[0]?.id));
  expect(expected.length).toBeGreaterThan(2);
  const told = expected.map((event) => ({ ...event, instance: 'office' }));
  await expect.poll(() => office.data('instance'), PATIENCE).toEqual(told);
  await expect.poll(() => all.data('instance'), PATIENCE).toEqual(told);
  await restart(scene);
  expect(all.isEnded()).toBe(true);
  const again = await open('/events', { 'Last-Event-ID': String(expected[0]?.id) });
  await expect.poll(() => again.data('instance'), PATIENCE).toEqual(told.slice(1));
  await scene.running.stop();
});
