// Starts a proxy: builds and connects its parts.
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import type { ProviderSettings } from '../model/settings.ts';
import { ProgramRunner } from '../programs/program-runner.ts';
import { createExecProvider } from '../providers/exec/exec-provider.ts';
import { createProviderRegistry } from '../providers/provider-registry.ts';
import { makeDirectory } from '../store/files.ts';
import { lockDirectory } from '../store/lock.ts';
import { ClaimedWork } from './claimed-work.ts';
import { ControllerClient } from './controller-client.ts';
import type { ProxySettings } from './load-proxy-settings.ts';
import { ProxyAgent, type ProxyAgentOptions } from './proxy-agent.ts';

const ONE_PROXY = 'Two proxies must not share it: stop the other one, or give this one a directory of its own.';

/**
 * Starts a proxy. Its stop claims no more, waits for what runs, and sends the reports. Throws StoreError if another
 * one has its directory or others may enter it, and LeftoverError if programs of an earlier one cannot be ended.
 */
export async function startProxy(
  settings: ProxySettings,
  { log, clock = systemClock, describe }: Pick<ProxyAgentOptions, 'log' | 'describe'> & { readonly clock?: Clock },
): Promise<{ stop(): Promise<void> }> {
  const { directory, concurrency, server, shutdownSeconds } = settings;
  await using opened = new AsyncDisposableStack();
  await makeDirectory(directory);
  opened.use(lockDirectory(directory, ONE_PROXY));
  const runner = await ProgramRunner.open(join(directory, 'running'), log);
  const make = (entry: ProviderSettings) => {
    if (entry.implementation !== 'exec') throw new Error(`the provider ${entry.name} of a proxy runs no program`);
    return createExecProvider({ ...entry, runner, log });
  };
  const registry = opened.adopt(createProviderRegistry(settings.providers, make), (it) => it.close());
  const client = opened.adopt(new ControllerClient(settings), (it) => it.close());
  const work = new ClaimedWork(join(directory, 'claims'));
  const hasEnded = (action: string): boolean => [...runner.ended.values()].some((call) => call.action === action);
  const agent = new ProxyAgent({ client, work, registry, concurrency, hasEnded, clock, log, describe });
  await agent.start();
  opened.adopt(agent, (it) => it.stop(shutdownSeconds * 1000));
  log.info({ server, directory, concurrency }, 'proxy started');
  const running = opened.move();
  return { stop: () => running.disposeAsync() };
}
