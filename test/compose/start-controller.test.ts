import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createLog } from '../../src/base/log.ts';
import { startController } from '../../src/compose.ts';
import type { ClientSeen } from '../../src/service/answers.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { lockDirectory } from '../../src/store/lock.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { createSite } from '../support/site.ts';

const LOG = createLog('silent');
const FILES = { 'tree.yaml': 'name: global\ntype: common\n' };

it('startController closes all opened parts if one cannot start, and names that part', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  const { config, state } = await createSite(FILES);
  const settings = await loadSettings(config, {});
  const { port } = taken.address() as AddressInfo;
  const start = startController({ ...settings, api: { ...settings.api, port } }, { log: LOG });
  await expect(start).rejects.toMatchObject({ code: 'EADDRINUSE' });
  lockDirectory(state)[Symbol.dispose]();
});

it('a controller closes its parts once', async () => {
  const { config, state } = await createSite(FILES);
  const controller = await startController(await loadSettings(config, {}), { log: LOG });
  expect(() => lockDirectory(state)).toThrow('in use');
  const stopped = controller.stop();
  expect(controller.stop()).toBe(stopped);
  await stopped;
  lockDirectory(state)[Symbol.dispose]();
});

it('a controller records when a client was seen, and when its certificate ends', async () => {
  const site = await createSite(FILES);
  // What waits for a minute waits for a moment.
  const clock: Clock = { ...systemClock, after: (ms, wake) => systemClock.after(ms === 60_000 ? 20 : ms, wake) };
  const controller = await startController(await loadSettings(site.config, {}), { log: LOG, clock });
  onTestFinished(() => controller.stop());
  await vi.waitFor(() => expect(controller.ready()).toBe(true), 20_000);
  const { request } = createHttpsClient({ port: controller.api.port, ca: site.ca }, site.administrator);
  const { body } = await request('/operations/clients');
  const { notAfter, lastSeen } = (body as { readonly clients: readonly [ClientSeen] }).clients[0];
  expect([notAfter, lastSeen]).toEqual([expect.stringMatching(/Z$/), expect.stringMatching(/Z$/)]);
  const recorded = (): unknown => {
    using database = new DatabaseSync(join(site.state, 'store.sqlite'), { readOnly: true });
    return database
      .prepare("SELECT value FROM rows WHERE kind = 'seen'")
      .all()
      .map(({ value }) => JSON.parse(String(value)));
  };
  const seen = { lastSeen, notAfter, notBefore: expect.any(String) };
  await expect.poll(recorded, { timeout: 20_000 }).toEqual([seen]);
});
