// The whole controller on a real disk that fills up and gets room again. Simulated disks that are full: test/simulation.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Overview } from '../../src/service/answers.ts';
import { filesOf } from '../support/churned-repository.ts';
import { freePort } from '../support/free-port.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSiteIn } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const WAIT = { timeout: 30_000, interval: 50 };
const EMPTY = { release: 1, counts: { shop: 0 } };
const LARGER = { release: 1, counts: { shop: 4 } };

const NEW_SERVERS = [1, 2, 3, 4].map((index) => `shop-web-${index}`);
describe.skipIf(process.getuid?.() !== 0)('a start on a full disk (skipped without the right to mount)', () => {
  it('serves the state saved before a kill, and continues when there is room', { timeout: 90_000 }, async () => {
    const { site, killed, ask } = await siteOnDisk();
    await made(killed, ['shop-db']);
    await killed.end('SIGKILL');
    const free = fillDisk(site.state);
    const running = new ServingProcess(site.config);
    const { request } = createHttpsClient({ port: await running.port(), ca: site.ca }, site.administrator);
    await vi.waitFor(async () => expect(await ask('/readyz')).toMatchObject({ status: 200 }), WAIT);
    expect((await request('/stacks/instances/shop/status/full')).body).toEqual({
      db: { 'shop-db': { state: 'done' } },
      web: {},
    });
    await site.repository.commit(filesOf(LARGER));
    await vi.waitFor(async () => {
      const { attention } = (await request('/operations/status')).body as Overview;
      const outage = attention.find(({ kind }) => kind === 'store' || kind === 'repository');
      expect(outage?.reason).toMatch(/No space left|no space left|disk is full/);
    }, WAIT);
    free();
    await made(running, NEW_SERVERS);
    expect(await running.end('SIGTERM')).toBe(0);
  });
});

/** A site whose store is on a small disk, and a controller that runs there. */
async function siteOnDisk() {
  const execution = '  providers: [{ name: lab, provider: simulated, options: { file: servers.json, createMs: 15 } }]';
  const options = { files: filesOf(EMPTY), repository: ', pollSeconds: 1', execution, provider: 'lab' };
  const site = await createSiteIn(temporaryDirectory(), options);
  const port = await freePort();
  const settings = readFileSync(site.config, 'utf8');
  writeFileSync(site.config, settings.replace(/(management:.* port:) 0/, `$1 ${port}`));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'tmpfs', site.state]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', site.state]));
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  return { site, killed: new ServingProcess(site.config), ask };
}

/** Leaves no room on a disk. Returns what frees it. */
function fillDisk(directory: string): () => void {
  const filler = join(directory, 'filler');
  spawnSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k'], { stdio: 'ignore' });
  return () => rmSync(filler);
}

async function made(running: ServingProcess, servers: readonly string[]): Promise<void> {
  const done = (): unknown[] => running.lines.filter(({ to }) => to === 'done').map(({ server }) => server);
  await vi.waitFor(() => expect(done(), running.stderr).toEqual(expect.arrayContaining([...servers])), WAIT);
}
