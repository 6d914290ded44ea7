import { expect } from 'vitest';
import type { FoundRecovery } from '../../src/service/answers.ts';
import { treeline } from './command-here.ts';
import type { ProcessResult } from './command-line.ts';
import { createHttpsClient, keepAll } from './https-client.ts';
import { ServingProcess } from './serving-process.ts';
import { simulatedRows } from './simulated-rows.ts';
import type { Site } from './site.ts';

/** The state of the repository. */
export const WANTED = { release: 1, counts: { shop: 2 } };
const WAIT = { timeout: 30_000, interval: 100 };

/** Runs `treeline store` as the operator of a site. */
export function runStore(site: Site, ...args: readonly string[]): Promise<ProcessResult> {
  return treeline(['store', ...args, '--config', site.config], { cwd: site.folder });
}

/** Starts a controller and waits until the shop is done at the newest commit. */
export async function serveUntilDone(site: Site): Promise<ServingProcess> {
  const controller = new ServingProcess(site.config);
  const agent = keepAll();
  const { request } = createHttpsClient({ port: await controller.port(), ca: site.ca }, site.administrator, agent);
  const commit = await site.repository.head();
  await expect.poll(async () => (await request('/operations/recovery')).status, WAIT).toBe(200);
  const { recovery } = (await request('/operations/recovery')).body as FoundRecovery;
  const body = JSON.stringify({ recovery: recovery?.id, force: true });
  if (recovery !== null) await request('/operations/resume', { method: 'POST', headers: JSON_TYPE, body });
  async function poll(): Promise<unknown> {
    const { headers, body } = await request('/stacks/instances/shop/status');
    return { commit: headers['x-treeline-commit'], status: body };
  }
  await expect.poll(poll, WAIT).toEqual({ commit, status: 'Done' });
  agent.destroy();
  return controller;
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Returns the release of every server that was made and not removed. */
export function releasesIn({ servers }: Site): Record<string, string | undefined> {
  return Object.fromEntries(simulatedRows(servers).map(({ name, properties }) => [name, properties?.release]));
}
