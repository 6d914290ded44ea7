// The whole controller on a disk that fills up and gets room again. In the first tests, commits of the store fail as those on a
// full disk do, with part of them written; everything else is real. The last ones fill a real disk.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { type Controller, startController } from '../../src/compose.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Overview } from '../../src/service/answers.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import type { KeptRow } from '../../src/store/row-json.ts';
import type { DocumentAdapter } from '../../src/store/store-document.ts';
import { storePath } from '../../src/store/store-file.ts';
import { filesOf, serversOf } from '../support/churned-repository.ts';
import { treeline } from '../support/command-line.ts';
import { freePort } from '../support/free-port.ts';
import { createHttpsClient } from '../support/https-client.ts';
import { commandLineOptions } from '../support/server-options.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { simulatedRows } from '../support/simulated-rows.ts';
import { createSite, type Site } from '../support/site.ts';
import { createSiteIn } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const WAIT = { timeout: 30_000, interval: 50 };
const EMPTY = { release: 1, counts: { shop: 0 } };
const LARGER = { release: 1, counts: { shop: 4 } };

/** The machine's disk, until it is full. */
class FillingDisk {
  /** Asked for every commit, with the rows that are to be written. */
  isFull: (rows: readonly KeptRow[]) => boolean = () => false;
  failures = 0;

  readonly adapting = (adapter: DocumentAdapter): DocumentAdapter => ({
    read: () => adapter.read(),
    write: async (document) => {
      if (!this.isFull([...(document.unsaved?.rows ?? [])])) return await adapter.write(document);
      this.failures += 1;
      throw new Error('database or disk is full');
    },
    events: (range) => adapter.events(range),
    close: () => adapter.close(),
  });
}

interface Running {
  readonly controller: Controller;
  readonly lines: readonly JsonMap[];
}

async function start(site: Site, disk: FillingDisk): Promise<Running> {
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const controller = await startController(await loadSettings(site.config, {}), { log, adapting: disk.adapting });
  onTestFinished(() => controller.stop());
  return { controller, lines };
}

async function startedOn(site: Site, disk: FillingDisk): Promise<Running> {
  const running = await start(site, disk);
  await vi.waitFor(() => expect(running.controller.reader().status('shop')).toBe('Done'), WAIT);
  return running;
}

/** Names of the servers that the provider has, and how often each was made. */
function creations({ servers }: Site): Record<string, number> {
  const counts = simulatedRows(servers).map(({ name, actions }) => {
    return [name, actions.filter((action) => action.endsWith('.create')).length] as const;
  });
  return Object.fromEntries(counts);
}

/** Returns the states of the servers as they are on the disk. */
function statesOnDisk({ state }: Site): Readonly<Record<string, unknown>> {
  const database = new DatabaseSync(storePath(state), { readOnly: true });
  const rows = database.prepare(`SELECT name, value FROM rows WHERE kind = 'server'`).all();
  database.close();
  return Object.fromEntries(rows.map(({ name, value }) => [name, JSON.parse(String(value)).state]));
}

/** Becomes full as soon as the intent to create every one of these servers is on it. */
function fillAfterIntents(disk: FillingDisk, servers: readonly string[]): void {
  const missing = new Set(servers);
  let isFull = false;
  disk.isFull = (rows) => {
    const wasFull = isFull;
    for (const [kind, name, json] of rows)
      if (kind === 'server' && json?.includes('"state":"creating"')) missing.delete(name);
    isFull ||= missing.size === 0;
    return wasFull;
  };
}

const NEW_SERVERS = [1, 2, 3, 4].map((index) => `shop-web-${index}`);
const ONCE = Object.fromEntries(['shop-db', ...NEW_SERVERS].map((name) => [name, 1]));

it('stops writing, goes on answering, and goes on by itself once there is room', { timeout: 90_000 }, async () => {
  const site = await createSite(filesOf(EMPTY));
  const disk = new FillingDisk();
  const { controller, lines } = await startedOn(site, disk);
  fillAfterIntents(disk, NEW_SERVERS);
  const followed = await site.repository.commit(filesOf(LARGER));
  await vi.waitFor(() => expect(creations(site)).toEqual(ONCE), WAIT);
  await site.repository.commit(filesOf({ ...LARGER, release: 2 }));

  // Every server is tried again every second, and so is the commit.
  await vi.waitFor(() => expect(disk.failures).toBeGreaterThan(8), WAIT);
  await vi.waitFor(() => expect(messagesIn(lines)).toContain('the repository could not be followed'), WAIT);
  const { request } = createHttpsClient({ port: controller.api.port, ca: site.ca }, site.administrator);
  const reply = await request('/stacks/instances/shop/status/full');
  expect(reply.headers['x-treeline-commit']).toBe(followed);
  expect(reply.body).toEqual({
    db: { 'shop-db': { state: 'done' } },
    web: Object.fromEntries(NEW_SERVERS.map((name) => [name, { state: 'creating' }])),
  });
  expect((await request('/hiera/shop-web-1/release/')).body).toBe('1');
  const { attention } = (await request('/operations/status')).body as Overview;
  const why = `The store in ${site.state} could not be written: database or disk is full. Nothing was saved.`;
  const unsaved = attention.find(({ kind }) => kind === 'store');
  expect(unsaved?.reason).toContain(`nothing is saved, so nothing new begins: ${why}`);
  expect(
    attention.map(({ kind }) => kind),
    'the branch itself was read',
  ).not.toContain('repository');
  const options = commandLineOptions(site, { controller });
  for (const args of [['status'], ['status', 'shop']]) {
    const { stdout } = await treeline([...args, ...options]);
    expect(stdout).toContain(`\n  store:unsaved, since ${unsaved?.since}\n    ${unsaved?.reason}\n`);
  }
  const refused = await request('/operations/suspend', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ instance: 'shop', reason: 'the disk is full' }),
  });
  expect(refused).toMatchObject({ status: 503, body: { error: 'not_ready' }, headers: { 'retry-after': '5' } });
  expect(JSON.stringify(refused.body)).toContain('database or disk is full. Nothing was saved. Free');
  expect(controller.ready()).toBe(true);
  const errors = lines.filter(({ level }) => Number(level) >= 50);
  expect(errors.map(({ msg }) => String(msg).split(';')[0]).sort()).toEqual([
    'pass failed',
    'the repository could not be followed',
  ]);
  for (const { err } of errors) {
    expect(JSON.stringify(err)).toContain(
      `The store in ${site.state} could not be written: database or disk is full. Nothing was saved. Free`,
    );
  }
  const onDisk = statesOnDisk(site);
  expect(NEW_SERVERS.map((name) => onDisk[name])).toEqual(Array(4).fill('creating'));

  disk.isFull = () => false;
  await vi.waitFor(() => expect(controller.reader().status('shop')).toBe('Done'), WAIT);
  await vi.waitFor(() => expect(releasesIn(site)).toEqual(serversOf({ ...LARGER, release: 2 })), WAIT);
  await vi.waitFor(() => expect(controller.reader().status('shop')).toBe('Done'), WAIT);
  expect(lines.filter(({ msg }) => msg === 'the store can be written again')).toHaveLength(1);
  expect((await request('/operations/status')).body).not.toHaveProperty('store');
  expect(creations(site)).toEqual(ONCE);
  expect(lines.filter(({ to }) => to === 'unknown')).toEqual([]);
});

describe.skipIf(process.getuid?.() !== 0)('a start on a real full disk (skipped where nothing may be mounted)', () => {
  it('serves what was saved before a kill, and continues once there is room', { timeout: 90_000 }, async () => {
    const { site, killed, ask } = await siteOnDisk();
    await made(killed, ['shop-db']);
    await killed.end('SIGKILL');
    const free = fillDisk(site.state);
    const running = new ServingProcess(site.config);
    const { request } = createHttpsClient({ port: await running.port(), ca: site.ca }, site.administrator);
    await vi.waitFor(async () => expect(await ask('/readyz')).toMatchObject({ status: 200 }), WAIT);
    expect((await request('/stacks/instances/shop/status/full')).body).toEqual({
      ...{ db: { 'shop-db': { state: 'done' } }, web: {} },
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

function messagesIn(lines: readonly JsonMap[]): string {
  return lines.map(({ msg }) => String(msg)).join('\n');
}

function releasesIn({ servers }: Site): Record<string, string | undefined> {
  return Object.fromEntries(simulatedRows(servers).map(({ name, properties }) => [name, properties?.release]));
}
