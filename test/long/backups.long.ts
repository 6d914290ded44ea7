// Backups that are made while commits come and servers change, and put back on a controller that has gone on.
// `npm run test:long`; test/cli/store-command.test.ts has one round, and test/store/ the backup itself.
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { filesOf, serversOf } from '../support/churned-repository.ts';
import { createSite, type Site } from '../support/site.ts';
import { releasesIn, runStore, serveUntilDone, WANTED } from '../support/store-operator.ts';

const LAST = { ...WANTED, release: 99 };

/** Updates the servers again and again, and ends with {@link LAST}. What is built after a backup would have to be adopted. */
async function commitUntil(over: AbortSignal, { repository }: Site): Promise<void> {
  for (let release = 2; release < LAST.release && !over.aborted; release++) {
    await repository.commit(filesOf({ ...WANTED, release }));
    await sleep(30);
  }
  await repository.commit(filesOf(LAST));
}

it('backups hold together while commits come and servers change', async () => {
  const site = await createSite(filesOf(WANTED));
  const controller = await serveUntilDone(site);
  const over = new AbortController();
  const working = commitUntil(over.signal, site);
  for (const name of ['first', 'second', 'third']) {
    const { stdout } = await runStore(site, 'backup', name, '--format', 'json');
    const commits = (await site.repository.git('rev-list', 'main')).split('\n');
    expect(commits).toContain(JSON.parse(stdout).commit);
  }
  over.abort();
  await working;
  await controller.end('SIGKILL');
  expect(await runStore(site, 'restore', 'second', '--force')).toMatchObject({ code: 0 });
  expect(await (await serveUntilDone(site)).end('SIGTERM')).toBe(0);
  expect(releasesIn(site)).toEqual(serversOf(LAST));
}, 120_000);

it('a backup takes back a change whose action had the same number, without leaving it undone', async () => {
  const site = await createSite(filesOf(WANTED));
  expect(await (await serveUntilDone(site)).end('SIGTERM')).toBe(0);
  expect((await runStore(site, 'backup', 'mine')).code).toBe(0);
  // Release 2 becomes the second generation, and of the restored rows release 3 does.
  await site.repository.commit(filesOf({ ...WANTED, release: 2 }));
  expect(await (await serveUntilDone(site)).end('SIGTERM')).toBe(0);
  await site.repository.commit(filesOf({ ...WANTED, release: 3 }));
  const restored = await runStore(site, 'restore', 'mine', '--force', '--format', 'json');
  expect(restored.code).toBe(0);
  const { former, rows, directory } = JSON.parse(restored.stdout);
  expect({ directory, rows: typeof rows }).toEqual({ directory: site.state, rows: 'number' });
  expect(readdirSync(former)).toContain('store.sqlite');
  expect(await (await serveUntilDone(site)).end('SIGTERM')).toBe(0);
  expect(releasesIn(site)).toEqual(serversOf({ ...WANTED, release: 3 }));
}, 120_000);
