// What proxies and a controller do to one another where a deadline has to pass first, or a controller starts again: processes,
// programs and a line between them as in test/scenario/proxies.test.ts. `npm run test:long`; test/reconcile/proxies.test.ts has the
// same on a clock that is handed in.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import {
  allDone,
  callsIn,
  clientAt,
  courses,
  isRunning,
  LONG,
  ONCE,
  readStates,
  startProxyScene,
} from '../support/proxy-scene.ts';
import { ServingProcess } from '../support/serving-process.ts';

// Each test starts several processes, and they many programs.
vi.setConfig({ testTimeout: 120_000 });

it('a line that is cut beyond the deadline: the late report is refused, a check finds what was made', async () => {
  const scene = await startProxyScene(2, { ms: 700, timeoutSeconds: 4 });
  const proxy = await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(2);
  scene.relay.cut();
  await expect.poll(scene.states, LONG).toEqual({ 'web-1': 'unknown', 'web-2': 'unknown' });
  expect(callsIn(scene)).toHaveLength(4);
  scene.relay.mend();
  await expect.poll(scene.states, LONG).toEqual(allDone(2));
  await proxy.logged('the controller refuses the report; it is not sent again');
  for (const course of Object.values(courses(scene))) expect(course).toEqual(ONCE);
});

it('a proxy that is stopped like a process leaves no program running beyond its deadline, and another makes the server', async () => {
  const scene = await startProxyScene(1, { ms: 20_000, timeoutSeconds: 5, graceSeconds: 3 });
  const stopped = await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(1);
  stopped.signal('SIGSTOP');
  const [begun] = callsIn(scene);
  writeFileSync(join(scene.servers, 'ms'), '100');
  await scene.proxy('south');
  await expect.poll(scene.states, LONG).toEqual(allDone(1));
  expect(isRunning(begun?.pid ?? 0)).toBe(false);
  expect(courses(scene)['web-1']).toEqual(['begin create', ...ONCE]);
});

it('a controller that is killed while a proxy works takes its report after its next start', async () => {
  const scene = await startProxyScene(2, { ms: 1_500 });
  await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(2);
  await scene.controller.end('SIGKILL');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(4);
  const next = new ServingProcess(scene.site.config);
  scene.relay.target = await next.port();
  const client = clientAt(scene.site, scene.relay.target);
  await expect.poll(() => readStates(client), LONG).toEqual(allDone(2));
  for (const course of Object.values(courses(scene))) expect(course).toEqual(ONCE);
});

it('a proxy that is removed while it works reports to nobody, and another one checks after the deadline', async () => {
  const scene = await startProxyScene(1, { ms: 1_000, timeoutSeconds: 5 });
  await scene.proxy('north');
  await expect.poll(() => callsIn(scene).length, LONG).toBe(1);
  const serial = readFileSync(join(scene.site.folder, 'north/serial'), 'utf8');
  await scene.site.repository.commit({ [`clients/${serial}.yaml`]: null });
  await expect.poll(() => callsIn(scene).length, LONG).toBe(2);
  await scene.proxy('south');
  await expect.poll(scene.states, LONG).toEqual(allDone(1));
  expect(courses(scene)['web-1']).toEqual(ONCE);
});
