// One desired state of one size on one controller: created, restarted without a change, and changed in one instance.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { FileChanges } from '../test/support/git-repository.ts';
import { instancePath, instanceText, repositoryFiles } from '../test/support/sized-repository.ts';
import type { Usage } from './owned-process.ts';
import { changesNoted, ServedController } from './served-controller.ts';
import { createSite, instancesFor, SERVERS_AN_INSTANCE, type Site } from './site.ts';

/** The number of templates that the instances share. */
export const KINDS = 10;
const DONE_MS_MAX = 15 * 60_000;
const CHANGE_MS_MAX = 2 * 60_000;

export interface LineRun {
  /** From the start of the process to the last server's `done`; `peakBytes` until it is idle. */
  readonly build: Usage & { readonly seconds: number };
  /** A restart without work: the time until it was ready, and its actions until it was idle. */
  readonly restart: Usage & { readonly seconds: number; readonly actions: number };
  /** From the commit on the branch that changes one instance to the `done` of its servers. */
  readonly change: { readonly seconds: number };
}

interface DesiredState {
  readonly site: Site;
  readonly instances: number;
  readonly servers: number;
}

/**
 * Measures in an empty folder, with instances of ten servers. `store` is the setting; default: the embedded store.
 * Throws if a step takes too long or the result is wrong.
 */
export async function measureLine(
  folder: string,
  { servers, store }: { readonly servers: number; readonly store?: string },
  say: (text: string) => void,
): Promise<LineRun> {
  const instances = instancesFor(servers);
  const site = await createSite(folder, filesOf(instances), store);
  const desired = { site, instances, servers: instances * SERVERS_AN_INSTANCE };
  const build = await measureBuild(desired);
  say(`done after ${build.seconds.toFixed(1)} s, ${Math.round(build.peakBytes / 2 ** 20)} MiB; restarting`);
  const controller = new ServedController(desired.site, 'again');
  const restart = await measureRestart(controller, desired);
  const change = await measureChange(controller, desired);
  await controller.stop();
  say(`restarted in ${restart.seconds.toFixed(1)} s; one instance changed in ${change.seconds.toFixed(2)} s`);
  return { build, restart, change };
}

/** Returns files with different texts: Git would store equal texts once, and the controller would read them once. */
function filesOf(instances: number): FileChanges {
  const files = { ...repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE, kinds: KINDS }) };
  for (let number = 0; number < instances; number++) {
    files[instancePath(number)] = textOf(number, `1.${number}`);
  }
  return files;
}

function textOf(instance: number, version: string): string {
  return instanceText({ kind: instance % KINDS, servers: SERVERS_AN_INSTANCE, version });
}

async function measureBuild(desired: DesiredState): Promise<LineRun['build']> {
  const { site, servers } = desired;
  const controller = new ServedController(site, 'first');
  await controller.process.until(`${servers} servers were done`, DONE_MS_MAX, () => {
    return controller.log.done >= servers ? true : undefined;
  });
  const { seconds } = controller;
  const { cpuSeconds } = controller.process.usage();
  await controller.quiet();
  const { peakBytes } = controller.process.usage();
  await expectBuilt(controller, desired);
  await controller.stop();
  return { seconds, cpuSeconds, peakBytes };
}

/** Verifies a measurement: every instance is `Done`, and every server was created once. */
async function expectBuilt(controller: ServedController, { site, instances, servers }: DesiredState): Promise<void> {
  const statuses = await controller.statuses();
  const others = [...statuses].filter(([, status]) => status !== 'Done');
  if (statuses.size !== instances || others.length > 0) {
    const [first] = others;
    throw new Error(`of ${statuses.size} instances, ${others.length} are not Done: ${first?.[0]} is ${first?.[1]}`);
  }
  const changes = changesNoted(site);
  if (changes !== servers) throw new Error(`${servers} servers were to be made, and the provider noted ${changes}`);
}

async function measureRestart(
  controller: ServedController,
  { site, servers }: DesiredState,
): Promise<LineRun['restart']> {
  await controller.ready();
  const { seconds } = controller;
  await controller.quiet();
  // Every action on a server changes its state, and the provider records it.
  const actions = Math.max(controller.log.stateChanges, changesNoted(site) - servers);
  return { ...controller.process.usage(), seconds, actions };
}

async function measureChange({ process, log }: ServedController, desired: DesiredState): Promise<LineRun['change']> {
  const number = Math.floor(desired.instances / 2);
  const followed = log.lines('commit followed').length;
  const { repository } = desired.site;
  await repository.commit({ [instancePath(number)]: textOf(number, '2') });
  // The log began with this start, so it contains only the servers of the change.
  await process.until('the change was done', CHANGE_MS_MAX, () =>
    log.done >= SERVERS_AN_INSTANCE ? log.lines('commit followed')[followed] : undefined,
  );
  // Uses the file's time as the start, because git needs more time to commit and exit than this measurement.
  const seconds = (log.lastDoneAt - statSync(join(repository.path, 'refs/heads/main')).mtimeMs) / 1000;
  const changes = changesNoted(desired.site) - desired.servers;
  if (changes !== SERVERS_AN_INSTANCE) throw new Error(`one instance was changed, and ${changes} servers were`);
  return { seconds };
}
