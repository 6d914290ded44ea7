// A controller whose repository is reached over HTTP, while that fails in every way: reads go on, nothing is done to any
// server, the log says why, and it heals by itself.
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Settings } from '../../src/model/settings.ts';
import { type GitHttpServer, startGitHttpServer } from '../support/git-http-server.ts';
import { createGitRepository } from '../support/git-repository.ts';
import { effectsIn, PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { instanceText, SHOP, STACKS } from './stacks.ts';

interface Scene {
  readonly site: Site;
  readonly server: GitHttpServer;
  readonly running: RunningController;
}

/** Settings with another URL, which is asked more often than people may ask for. */
function at(url: string): (settings: Settings) => Settings {
  return (settings) => ({ ...settings, repository: { ...settings.repository, url, pollSeconds: 0.2 } });
}

async function upAndDone(): Promise<Scene> {
  const site = await createSite(STACKS);
  const server = await startGitHttpServer({ repository: site.repository.path });
  const running = await runController(site, at(server.url));
  await running.untilDone(await site.repository.head(), 'office', 'shop');
  return { site, server, running };
}

/** What is logged from now on about looks that failed. */
function troublesOf({ lines }: RunningController): () => readonly string[] {
  const start = lines.length;
  return () =>
    lines.slice(start).flatMap(({ msg, err }) => {
      const isFailure = typeof msg === 'string' && msg.startsWith('the repository could not be followed');
      return isFailure ? [String((err as { readonly message?: string }).message)] : [];
    });
}

describe('an outage of the remote', () => {
  it('deletes no server while the host is down or the branch deleted', async () => {
    const { site, server, running } = await upAndDone();
    const effects = effectsIn(site);
    const down = troublesOf(running);
    await server.stop();
    // A poll that was under way when the server stopped may have ended otherwise.
    await expect.poll(() => down().at(-1), PATIENCE).toMatch(/Failed to connect|Couldn't connect/);
    await server.start();

    const deleted = troublesOf(running);
    const head = await site.repository.head();
    await site.repository.git('update-ref', '-d', 'refs/heads/main');
    await expect.poll(() => deleted().at(-1), PATIENCE).toMatch(/has no commits yet/);
    await site.repository.git('update-ref', 'refs/heads/main', head);
    expect(effectsIn(site)).toEqual(effects);
    const commit = await site.repository.commit({ [SHOP]: instanceText('shop', 1) });
    await running.untilDone(commit, 'shop');
  });
});

it('a start without the remote serves the followed commit, and continues when the remote is back', async () => {
  const { site, server, running } = await upAndDone();
  await running.stop();
  await server.stop();
  const again = await runController(site, at(server.url));
  await expect.poll(() => again.controller.ready(), PATIENCE).toBe(true);
  expect(await again.status('shop')).toBe('Done');
  await server.start();
  const commit = await site.repository.commit({ [SHOP]: instanceText('shop', 3) });
  await again.untilDone(commit, 'shop');
});

it.each<[what: string, change: Partial<Settings['repository']>, reason: RegExp]>([
  [
    'another URL',
    { url: 'stakcs.git' },
    /^No good commit of the stacks repository has been read yet: "\S+stakcs\.git" is not a Git repository: name a bare one.*\. Treeline retries automatically and logs each failure; after a change of the settings, restart the controller$/,
  ],
  [
    'another directory',
    { directory: 'infra' },
    /: the commit \S+ is not followed: tree\.yaml:1:1 \[tree_missing\]; "treeline validate" says more, of the folder /,
  ],
])('a first start with %s answers the reason and the remedy', async (_, change, reason) => {
  const site = await createSite(STACKS);
  await createGitRepository(join(site.folder, 'empty.git'));
  const url = change.url === undefined ? site.repository.path : join(site.folder, change.url);
  const running = await runController(site, (settings) => ({
    ...settings,
    repository: { ...settings.repository, ...change, url },
  }));
  const answer = async (): Promise<unknown> => (await running.get('/operations/status')).body;
  await expect.poll(answer, PATIENCE).toEqual({
    message: expect.stringMatching(reason),
    return_code: 503,
    error: 'not_ready',
  });
});
