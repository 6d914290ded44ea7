// A controller on a site, and what people do to it: push, restart, approve.
import { expect } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Settings } from '../../src/model/settings.ts';
import type { FileChanges } from '../support/git-repository.ts';
import { existing, PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { instanceText, SHOP, STACKS } from './stacks.ts';

/** shop-db and shop-web-1 to shop-web-4; office-db and office-web-1. */
export const SHOP_FILES: FileChanges = { ...STACKS, [SHOP]: instanceText('shop', 4) };

export interface Scene {
  readonly site: Site;
  running: RunningController;
  readonly settings: (settings: Settings) => Settings;
}

/** Settings by which two servers may go without a yes. */
export function twoServers(settings: Settings): Settings {
  return { ...settings, execution: { ...settings.execution, deleteBudget: { percent: 0, least: 2, most: 2 } } };
}

/** Returns a controller that has brought the instances `shop` and `office` up. */
export async function upAndDone(files = SHOP_FILES, settings = twoServers): Promise<Scene> {
  const site = await createSite(files);
  const running = await runController(site, settings);
  await running.untilDone(await headOf(site), 'office', 'shop');
  return { site, running, settings };
}

/** Stops the controller and starts another one, with other settings if there are any. */
export async function restart(scene: Scene, settings = scene.settings): Promise<void> {
  await scene.running.stop();
  scene.running = await runController(scene.site, settings);
  await scene.running.logged('commit followed');
}

export function headOf({ repository }: Site): Promise<string> {
  return repository.head();
}

/** Pushes a commit, and resolves once it is followed. */
export async function push(
  { site, running }: Pick<Scene, 'site' | 'running'>,
  files: FileChanges,
  message = 'change',
): Promise<string> {
  const commit = await site.repository.commit(files, { message });
  await running.untilDone(commit);
  return commit;
}

/** One item of `/operations/held`. */
export interface Held {
  readonly kind: string;
  readonly digest: string;
  readonly instance: string | null;
  readonly reason: string;
  readonly since: string;
  readonly resources: readonly string[];
}

export async function heldIn({ running }: Scene): Promise<readonly Held[]> {
  return ((await running.get('/operations/held')).body as { readonly held: readonly Held[] }).held;
}

/** Resolves with what is held of that kind once something is. */
export async function untilHeld(scene: Scene, kind: string): Promise<Held> {
  const find = async (): Promise<Held | undefined> => (await heldIn(scene)).find((item) => item.kind === kind);
  await expect.poll(find, PATIENCE).toBeDefined();
  const item = await find();
  if (item === undefined) throw new Error(`${kind}: not held any more`);
  return item;
}

/** Returns the digest under which an instance is held. */
export async function digestOf(scene: Scene, instance = 'shop'): Promise<string> {
  return (await heldIn(scene)).find((item) => item.instance === instance)?.digest ?? 'nothing held';
}

/** Returns the status of the answer. */
export async function approve(scene: Scene, digest: string): Promise<number> {
  return (await scene.running.post('/operations/approve', { digest })).status;
}

/** Resolves once exactly these servers exist. */
export async function untilServers({ site }: Scene, servers: readonly string[]): Promise<void> {
  await expect.poll(() => Object.keys(existing(site)), PATIENCE).toEqual(servers);
}

export async function untilStatus({ running }: Scene, instance: string, status: string): Promise<void> {
  await expect.poll(() => running.status(instance), PATIENCE).toBe(status);
}

/** Returns everything that reads answer about these instances and their servers. */
export async function answers({ running }: Scene, ...instances: readonly string[]): Promise<unknown> {
  const documents = instances.map(async (name) => (await running.get(`/stacks/instances/${name}/`)).body);
  const records = (await running.get('/hiera/all')).body as JsonMap;
  const own = Object.entries(records).filter(([name]) => instances.some((instance) => name.startsWith(`${instance}-`)));
  return [await Promise.all(documents), own];
}
