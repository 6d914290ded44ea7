// Tests that nothing is done to a server when the repository looks as if nothing were wanted any more. Each cause is followed by the
// files of before.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { FileChanges } from '../support/git-repository.ts';
import { actionsIn, markedServers, markingEntry } from '../support/marking-server.ts';
import { PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { createSiteIn, type Site } from '../support/site-on-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { SERVERS, STACKS } from './stacks.ts';

const FOLDER = 'infra';
const OTHER = 'elsewhere';

interface Scene {
  readonly site: Site;
  readonly running: RunningController;
  /** The files below `infra/`, with the administrator's registration. */
  readonly files: Readonly<Record<string, string>>;
}

/** Returns the files below another folder. */
function below(folder: string, files: FileChanges): FileChanges {
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [`${folder}/${path}`, content]));
}

async function upAndDone(servers: string): Promise<Scene> {
  const entry = markingEntry(servers, { seconds: 0 });
  const execution = `  providers: [{ provider: exec, ${entry}, checkSeconds: 1, drift: heal }]`;
  const repository = `, directory: ${FOLDER}, pollSeconds: 1`;
  const site = await createSiteIn(temporaryDirectory(), { files: {}, repository, execution, provider: 'local' });
  const [client = ''] = (await site.repository.git('ls-tree', '-r', '--name-only', 'main')).split('\n');
  const files = { ...STACKS, [client]: await site.repository.git('show', `main:${client}`) } as Record<string, string>;
  await site.repository.commit(below(FOLDER, files));
  const running = await runController(site);
  await untilDone({ site, running });
  return { site, running, files };
}

async function untilDone({ site, running }: Pick<Scene, 'site' | 'running'>): Promise<void> {
  await running.untilDone(await site.repository.head(), 'shop', 'office');
}

/** Returns changes that give every file this content; null removes it. */
function all(files: Scene['files'], content: string | null): FileChanges {
  return Object.fromEntries(Object.keys(files).map((path) => [path, content]));
}

/** Each makes it look as if nothing were wanted, and returns once the controller has seen it. */
const CAUSES: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  async 'the repository cannot be reached'({ site, running }) {
    const path = join(site.folder, 'stacks.git');
    renameSync(path, `${path}.away`);
    await running.logged('the repository could not be followed; everything stays as it is');
    renameSync(`${path}.away`, path);
  },
  async 'a commit without any file'({ site, running, files }) {
    await site.repository.commit(below(FOLDER, all(files, null)));
    await refused(running, site);
  },
  async 'a commit with broken YAML in every file'({ site, running, files }) {
    await site.repository.commit(below(FOLDER, all(files, 'a: [\n')));
    await refused(running, site);
  },
};

/** Resolves once the newest commit was not followed. */
async function refused(running: RunningController, site: Site): Promise<void> {
  const commit = await site.repository.head();
  const isRefused = (): boolean =>
    running.lines.some((line) => line.commit === commit && String(line.msg).startsWith('the commit is not followed'));
  await expect.poll(isRefused, PATIENCE).toBe(true);
}

it('nothing is done to a server, whatever looks as if nothing were wanted', async () => {
  const servers = temporaryDirectory();
  const scene = await upAndDone(servers);
  const before = actionsIn(servers);
  expect(Object.keys(markedServers(servers))).toEqual(SERVERS);
  for (const [cause, happen] of Object.entries(CAUSES)) {
    await happen(scene);
    const back = { ...below(OTHER, all(scene.files, null)), ...below(FOLDER, scene.files) };
    await scene.site.repository.commit(back);
    await untilDone(scene);
    expect(actionsIn(servers), cause).toEqual(before);
  }
});
