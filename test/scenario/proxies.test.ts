// The controller and real proxies, each in a process of its own, with real programs. The file that the programs write shows that
// nothing ran twice at once. The simulator cuts the line between them and kills either.
import { expect, it, vi } from 'vitest';
import { allDone, callsIn, courses, LONG, ONCE, stackOf, startProxyScene } from '../support/proxy-scene.ts';

// Each test starts several processes, and they many programs.
vi.setConfig({ testTimeout: 120_000 });

it('two proxies with one tag share the work, and never do it twice', async () => {
  const scene = await startProxyScene(1);
  await expect.poll(scene.states, LONG).toEqual({ 'web-1': 'blocked' });
  await scene.proxy('north', { concurrency: 1 });
  await scene.proxy('south', { concurrency: 1 });
  await expect.poll(scene.states, LONG).toEqual(allDone(1));
  await scene.site.repository.commit(stackOf(8));
  await expect.poll(scene.states, LONG).toEqual(allDone(8));
  expect(new Set(callsIn(scene).map(({ site }) => site))).toEqual(new Set(['north', 'south']));
  for (const course of Object.values(courses(scene))) expect(course).toEqual(ONCE);
});
