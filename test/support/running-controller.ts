import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { startController } from '../../src/compose.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { ExecutionSettings, ProviderSettings, Settings, SimulatedSettings } from '../../src/model/settings.ts';
import { loadSettings } from '../../src/settings/load-settings.ts';
import { describedClient } from './described-client.ts';
import { createHttpsClient, type HttpsClient, keepAll, type Reply } from './https-client.ts';
import { simulatedRows } from './simulated-rows.ts';
import type { Site } from './site.ts';

/** How long an end state is waited for. */
export const PATIENCE = { timeout: 60_000, interval: 25 };

export type RunningController = Awaited<ReturnType<typeof runController>>;

/** Starts a controller, which does not outlive the running test. `execution` is laid over the site's settings. */
export async function runController(site: Site, change: (settings: Settings) => Settings = (settings) => settings) {
  const lines: JsonMap[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const controller = await startController(change(await loadSettings(site.config)), { log });
  const agent = keepAll();
  onTestFinished(async () => {
    agent.destroy();
    await controller.stop();
  });
  const server = { port: controller.api.port, ca: site.ca };
  const { request } = describedClient(createHttpsClient(server, site.administrator, agent), true);
  const get = (path: string): Promise<Reply> => request(path);
  /** Sends a body as JSON. */
  const post = (path: string, body: JsonMap): Promise<Reply> =>
    request(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  /** What `/stacks/instances/<name>/status` answers; the code of the error where it is one. */
  const status = async (instance: string): Promise<unknown> =>
    codeOf(await get(`/stacks/instances/${instance}/status`));
  return {
    controller,
    /** Every line that was logged. */
    lines: lines as readonly JsonMap[],
    request,
    get,
    post,
    status,
    stop: () => controller.stop(),
    /** State by server name. */
    async states(instance: string): Promise<Readonly<Record<string, string>>> {
      const { body } = await get(`/stacks/instances/${instance}/status/full`);
      const groups = Object.values(body as Readonly<Record<string, Readonly<Record<string, { state: string }>>>>);
      return Object.fromEntries(
        groups.flatMap((group) => Object.entries(group)).map(([name, { state }]) => [name, state]),
      );
    },
    /** Resolves once these instances are `Done` at that commit. */
    async untilDone(commit: string, ...instances: readonly string[]): Promise<void> {
      await expect.poll(() => followed(request), PATIENCE).toBe(commit);
      for (const instance of instances) await expect.poll(() => status(instance), PATIENCE).toBe('Done');
    },
    /** Resolves once a line with this message has been logged, and returns the newest. */
    async logged(message: string): Promise<JsonMap> {
      const find = (): JsonMap | undefined => lines.findLast(({ msg }) => msg === message);
      await expect.poll(find, PATIENCE).toBeDefined();
      return find() ?? {};
    },
  };
}

/** Returns the options `--server`, `--cert`, `--key` and `--ca` of an administrator's command. */
export function commandLineOptions({ folder }: Site, { controller }: Pick<RunningController, 'controller'>): string[] {
  const pki = (name: string): string => join(folder, 'pki', name);
  return [
    ...['--server', `https://127.0.0.1:${controller.api.port}`],
    ...['--cert', pki('administrator.crt'), '--key', pki('administrator.key'), '--ca', pki('ca.crt')],
  ];
}

/** Returns settings whose simulated providers are changed, for {@link runController}. */
export function withProvider(
  options: Partial<SimulatedSettings>,
  retry: Partial<ExecutionSettings['retry']> = {},
): (settings: Settings) => Settings {
  return (settings) => {
    const change = (entry: ProviderSettings): ProviderSettings => ({
      ...entry,
      ...(entry.implementation === 'simulated' ? { options: { ...entry.options, ...options } } : {}),
      retry: { ...entry.retry, ...retry },
    });
    return { ...settings, execution: { ...settings.execution, providers: settings.execution.providers.map(change) } };
  };
}

/** A change of what exists. */
export interface Effect {
  readonly server: string;
  readonly operation: 'create' | 'update' | 'delete';
  readonly properties: Readonly<Record<string, unknown>> | null;
}

/** Returns what was done to servers; the last change of each server in order, after all earlier changes. */
export function effectsIn({ servers }: Site): Effect[] {
  const effects = simulatedRows(servers).map(({ name, properties, actions }) =>
    actions.map((action): Effect => {
      const [, operation] = /\.(create|update|delete)(?:\.|$)/.exec(action.slice(name.length)) ?? [];
      return { server: name, operation: operation as Effect['operation'], properties };
    }),
  );
  return [...effects.flatMap((each) => each.slice(0, -1)), ...effects.flatMap((each) => each.slice(-1))];
}

/** Returns what exists: the properties of each server, by name. */
export function existing({ servers }: Pick<Site, 'servers'>): Readonly<Record<string, Effect['properties']>> {
  const there = simulatedRows(servers).filter(({ properties }) => properties !== null);
  return Object.fromEntries(there.map(({ name, properties }) => [name, properties] as const).sort());
}

async function followed(request: HttpsClient['request']): Promise<unknown> {
  return (await request('/tree/')).headers['x-treeline-commit'];
}

function codeOf({ status, body }: Reply): unknown {
  return status === 200 ? body : (body as { readonly error?: string }).error;
}
