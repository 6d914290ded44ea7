// A controller that is killed, loses its local copy, and meets a branch that was forced elsewhere meanwhile.
// `npm run test:long`; test/reconcile/lost-history.test.ts and test/scenario/holds.test.ts have each step by itself.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { instanceText, OFFICE, SERVERS, SHOP, STACKS } from '../scenario/stacks.ts';
import { type ProcessResult, run, treeline } from '../support/command-line.ts';
import { startGitHttpServer } from '../support/git-http-server.ts';
import { createHttpsClient, type Reply } from '../support/https-client.ts';
import { existing, PATIENCE } from '../support/running-controller.ts';
import { ServingProcess } from '../support/serving-process.ts';
import { createSite, type Site } from '../support/site.ts';

const PROTECTED_OFFICE = instanceText('office', 1, 'protected: true\n');

/** One life of the controller, and what people ask of it. */
class Life {
  readonly #site: Site;
  readonly #process: ServingProcess;

  constructor(site: Site) {
    this.#site = site;
    this.#process = new ServingProcess(site.config);
  }

  async get(path: string): Promise<Reply> {
    const server = { port: await this.#process.port(), ca: this.#site.ca };
    return await createHttpsClient(server, this.#site.administrator).request(path);
  }

  async command(...args: readonly string[]): Promise<ProcessResult> {
    const pki = (name: string): string => join(this.#site.folder, 'pki', name);
    const env = {
      TREELINE_SERVER: `https://127.0.0.1:${await this.#process.port()}`,
      TREELINE_CA: pki('ca.crt'),
      TREELINE_CERT: pki('administrator.crt'),
      TREELINE_KEY: pki('administrator.key'),
    };
    return await treeline(args, { env });
  }

  async ready(): Promise<Response> {
    const { management } = (await this.#process.logged('listening')) as { management: { port: number } } & object;
    return await fetch(`http://127.0.0.1:${management.port}/readyz`);
  }

  async untilFollowed(commit: string): Promise<void> {
    const followed = async () => (await this.get('/tree/')).headers['x-treeline-commit'];
    await expect.poll(followed, PATIENCE).toBe(commit);
  }

  async untilHeld(digest: string): Promise<void> {
    const held = async () => (await this.get('/operations/held')).body;
    await expect.poll(held, PATIENCE).toMatchObject({ held: [{ kind: 'history', digest }] });
  }

  async kill(): Promise<void> {
    await this.#process.end('SIGKILL');
    expect(this.#process.stderr).toBe('');
  }
}

/** Pushes a history of its own, without the shop and with an office of no servers, over HTTP and by force. */
async function forceAnotherHistory(site: Site, url: string): Promise<string> {
  const clone = join(site.folder, 'clone');
  const git = async (...args: readonly string[]): Promise<string> => {
    const person = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.invalid'];
    const ended = await run('git', [...person, ...args]);
    expect(ended, ended.stderr).toMatchObject({ code: 0 });
    return ended.stdout.trim();
  };
  await git('clone', '--quiet', '--branch', 'main', url, clone);
  await git('-C', clone, 'checkout', '--quiet', '--orphan', 'anew');
  rmSync(join(clone, SHOP));
  writeFileSync(join(clone, OFFICE), instanceText('office', 0, 'protected: true\n'));
  await git('-C', clone, 'add', '--all');
  await git('-C', clone, 'commit', '--quiet', '--message', 'Anew');
  await git('-C', clone, 'push', '--quiet', '--force', 'origin', 'anew:main');
  await site.repository.git('reflog', 'expire', '--expire=now', '--all');
  await site.repository.git('gc', '--quiet', '--prune=now');
  return await git('-C', clone, 'rev-parse', 'anew');
}

it('holds the new history over kills, and begins from what it has recorded once that is accepted', {
  timeout: 120_000,
}, async () => {
  const site = await createSite({ ...STACKS, [OFFICE]: PROTECTED_OFFICE });
  const server = await startGitHttpServer({ repository: site.repository.path, receivePack: true });
  writeFileSync(
    site.config,
    readFileSync(site.config, 'utf8')
      .replace('url: stacks.git', `url: "${server.url}"`)
      .replace('least: 5', 'least: 1'),
  );
  const followed = await site.repository.head();
  let life = new Life(site);
  await life.untilFollowed(followed);
  await expect.poll(() => Object.keys(existing(site)), PATIENCE).toEqual(SERVERS);
  await expect.poll(async () => (await life.get('/stacks/instances/shop/status')).body, PATIENCE).toBe('Done');
  await life.kill();

  const commit = await forceAnotherHistory(site, server.url);
  await expect(site.repository.git('cat-file', '-e', followed)).rejects.toThrow();
  rmSync(join(site.state, 'repository'), { recursive: true });
  for (let starts = 0; starts < 2; starts += 1) {
    life = new Life(site);
    await life.untilHeld(`history-${commit}`);
    if (starts === 0) await life.kill();
  }
  const ready = await life.ready();
  expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('the history was rewritten')]);
  const status = await life.command('status');
  expect(status).toMatchObject({ code: 0, stderr: '' });
  expect(status.stdout).toContain(`do: treeline accept-history ${commit}`);
  expect(status.stdout).toContain(`commit ${followed} is followed`);
  expect((await life.command('held')).stdout).toContain(`release with: treeline accept-history ${commit}`);
  expect((await life.command('why', 'shop')).stdout).toContain(`treeline accept-history ${commit}`);
  expect(await life.get('/hiera/shop-db')).toMatchObject({
    status: 503,
    body: { error: 'not_ready', message: expect.stringContaining('the history was rewritten') },
  });
  expect(Object.keys(existing(site))).toEqual(SERVERS);

  const accepted = await life.command('accept-history', commit, '--reason', 'the repository was made again');
  expect(accepted).toMatchObject({ code: 0, stderr: '' });
  await life.kill();
  life = new Life(site);
  await life.untilFollowed(commit);
  expect((await life.get('/operations/held')).body).toMatchObject({ held: [{ kind: 'deletes', instance: 'shop' }] });
  expect((await life.get('/stacks/instances/office/status')).body).toBe('Invalid');
  expect((await life.get('/operations/problems')).body).toMatchObject({
    problems: expect.arrayContaining([expect.objectContaining({ code: 'protected_instance' })]),
  });
  const { held } = (await life.get('/operations/held')).body as { held: readonly { digest: string }[] };
  expect(await life.command('approve', held[0]?.digest ?? '')).toMatchObject({ code: 0 });
  await expect.poll(() => Object.keys(existing(site)), PATIENCE).toEqual(['office-db', 'office-web-1']);
  await life.kill();
});
