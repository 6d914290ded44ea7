// The controller and real proxies, each in a process of its own, with real programs and a line between them that is cut.
// The file that the programs write shows that nothing ran twice at once. test/long/proxies.long.ts has what waits for deadlines.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { allDone, callsIn, courses, isRunning, LONG, ONCE, stackOf, startProxyScene } from '../support/proxy-scene.ts';

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

it('a line that is cut for longer than an action takes costs no second try', async () => {
  const scene = await startProxyScene(3, { ms: 700 });
  const proxy = await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(3);
  scene.relay.cut();
  await expect.poll(() => callsIn(scene).length, LONG).toBe(6);
  expect(Object.values(await scene.states())).not.toContain('done');
  scene.relay.mend();
  await expect.poll(scene.states, LONG).toEqual(allDone(3));
  await proxy.logged('reported');
  for (const course of Object.values(courses(scene))) expect(course).toEqual(ONCE);
});

it('a proxy that is killed in the middle of an action leaves no program running, and tries again at its next start', async () => {
  const scene = await startProxyScene(1, { ms: 20_000 });
  const killed = await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(1);
  killed.signal('SIGKILL');
  const [begun] = callsIn(scene);
  await expect.poll(() => isRunning(begun?.pid ?? 0), LONG).toBe(false);
  writeFileSync(join(scene.servers, 'ms'), '100');
  const next = await scene.proxy('north');
  await next.logged('the proxy was ended while this ran; it is reported as to be tried again');
  await expect.poll(scene.states, LONG).toEqual(allDone(1));
  expect(courses(scene)['web-1']).toEqual(['begin create', ...ONCE]);
});

it('a proxy that is stopped claims no more, finishes what runs, and reports it', async () => {
  const scene = await startProxyScene(8, { ms: 1_000 });
  const proxy = await scene.proxy('north', { concurrency: 2 });
  await expect.poll(() => callsIn(scene).length, LONG).toBe(2);
  expect(await proxy.end('SIGTERM')).toBe(0);
  expect(callsIn(scene)).toHaveLength(4);
  const done = Object.values(await scene.states()).filter((state) => state === 'done');
  expect(done).toHaveLength(2);
});
