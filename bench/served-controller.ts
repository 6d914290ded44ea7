// `treeline serve` in a separate process on a site, watched from outside: its log, health, cost, and the actions of its
// simulated provider.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMap } from '../src/model/json.ts';
import type { FileChanges } from '../test/support/git-repository.ts';
import { createHttpsClient, type HttpsClient, keepAlive } from '../test/support/https-client.ts';
import { simulatedRows } from '../test/support/simulated-rows.ts';
import { OwnedProcess } from './owned-process.ts';
import { ServedLog } from './served-log.ts';
import { createSite, type Site } from './site.ts';

const ROOT = join(import.meta.dirname, '..');
const READY_MS_MAX = 120_000;
const QUIET_MS_MAX = 180_000;
/** A process is quiet if it uses less than a twentieth of a processor for this time. */
const QUIET_MS = 2_000;
const QUIET_SHARE = 0.05;

/** Node's arguments and environment. */
interface NodeOptions {
  readonly nodeArgs?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export class ServedController {
  readonly site: Site;
  readonly process: OwnedProcess;
  readonly log: ServedLog;
  readonly #startedAt = performance.now();

  /** Starts it. `name`: the unique name of its log in the site's folder. */
  constructor(site: Site, name: string, { nodeArgs = [], env = process.env }: NodeOptions = {}) {
    const output = join(site.folder, `${name}.log`);
    const args = [...nodeArgs, 'src/cli.js', 'serve', '--config', site.config];
    this.site = site;
    this.process = new OwnedProcess({ file: process.execPath, args, cwd: ROOT, output, env });
    this.log = new ServedLog(output);
  }

  /** Seconds since it was started. */
  get seconds(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }

  /** Resolves once `/readyz` answers 200. */
  async ready(): Promise<void> {
    const port = await this.#port('management');
    await this.process.until('/readyz answered 200', READY_MS_MAX, async () => {
      const { ok } = await fetch(`http://127.0.0.1:${port}/readyz`);
      return ok ? true : undefined;
    });
  }

  /** Resolves when it is quiet. */
  async quiet(msMax = QUIET_MS_MAX): Promise<void> {
    const rounds = msMax / QUIET_MS;
    for (let round = 0; round < rounds; round++) {
      const before = this.process.usage().cpuSeconds;
      await sleep(QUIET_MS);
      if (this.process.usage().cpuSeconds - before < (QUIET_MS / 1000) * QUIET_SHARE) return;
    }
    throw new Error(`the controller did not come to rest within ${msMax / 1000} s`);
  }

  /** Commits, and resolves with the id when the commit is followed and this number of servers is done. */
  async follow(changes: FileChanges, servers: number, msMax: number): Promise<string> {
    const followed = this.log.lines('commit followed').length;
    const commit = await this.site.repository.commit(changes);
    const isOver = (): true | undefined =>
      this.log.lines('commit followed').length > followed && this.log.done >= servers ? true : undefined;
    await this.process.until('the commit was followed', msMax, isOver);
    return commit;
  }

  /** Returns a client of its REST interface, an administrator, once it listens. */
  async client(): Promise<HttpsClient> {
    const { ca, administrator } = this.site;
    return createHttpsClient({ port: await this.#port('api'), ca }, administrator);
  }

  /** Returns the port of its REST interface, once it listens. */
  apiPort(): Promise<number> {
    return this.#port('api');
  }

  /** Resolves with the status of every instance from the REST interface. */
  async statuses(): Promise<ReadonlyMap<string, unknown>> {
    const client = await this.client();
    const agent = keepAlive();
    const { body } = await client.request('/stacks/instances', { agent });
    const statuses = new Map<string, unknown>();
    for (const instance of Array.isArray(body) ? body : []) {
      const name = isMap(instance) ? String(instance.name) : '';
      statuses.set(name, (await client.request(`/stacks/instances/${name}/status`, { agent })).body);
    }
    agent.destroy();
    return statuses;
  }

  async stop(): Promise<void> {
    await this.process.stop();
    this.log.close();
  }

  async #port(listener: 'api' | 'management'): Promise<number> {
    const find = (): unknown => this.log.lines('listening')[0]?.[listener];
    const address = await this.process.until('it listened', READY_MS_MAX, find);
    return isMap(address) ? Number(address.port) : Number.NaN;
  }
}

/** Resolves with a controller on a new site in an empty folder when it is quiet. `name`: the name of its log. */
export async function serveNewSite(
  folder: string,
  name: string,
  files: Readonly<FileChanges>,
): Promise<ServedController> {
  const controller = new ServedController(await createSite(folder, { ...files }), name);
  await controller.ready();
  await controller.quiet();
  return controller;
}

/** Returns the number of recorded actions of the simulated provider. Each changed a server. */
export function changesNoted({ servers: file }: Site): number {
  return simulatedRows(file).reduce((count, { actions }) => count + actions.length, 0);
}
