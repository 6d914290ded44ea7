// Tests that a failed start and a stop release everything that was opened.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startController } from '../../src/compose.ts';
import { loadSettings } from '../../src/load-settings.ts';
import { createLog } from '../../src/log.ts';
import { lockDirectory } from '../../src/store/lock.ts';
import { createSite } from '../support/site.ts';

const LOG = createLog('silent');
const FILES = { 'tree.yaml': 'name: global\ntype: common\n' };

it('closes what was opened before the part that cannot start, and tells of that part', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void taken.close());
  const { config, state } = await createSite(FILES);
  const settings = await loadSettings(config, {});
  const { port } = taken.address() as AddressInfo;
  const start = startController({ ...settings, management: { ...settings.management, port } }, { log: LOG });
  await expect(start).rejects.toMatchObject({ code: 'EADDRINUSE' });
  lockDirectory(state)[Symbol.dispose]();
});

it('closes everything once, whoever asks again', async () => {
  const { config, state } = await createSite(FILES);
  const controller = await startController(await loadSettings(config, {}), { log: LOG });
  expect(() => lockDirectory(state)).toThrow('in use');
  const stopped = controller.stop();
  expect(controller.stop()).toBe(stopped);
  await stopped;
  lockDirectory(state)[Symbol.dispose]();
});
