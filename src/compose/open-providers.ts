// Opens the provider of every entry of the settings.
import { join } from 'node:path';
import type { ProviderSettings, Settings } from '../model/settings.ts';
import { ProgramRunner } from '../programs/program-runner.ts';
import { createExecProvider } from '../providers/exec/exec-provider.ts';
import { createHttpProvider } from '../providers/http/http-provider.ts';
import type { Provider } from '../providers/provider.ts';
import { createProviderRegistry, type ProviderRegistry } from '../providers/provider-registry.ts';
import { createSimulatedProvider } from '../providers/simulated.ts';
import type { SharedParts } from './shared-parts.ts';

/**
 * Returns the registry of all entries, and whether the directory is a copy whose first controller runs programs. Programs that an earlier controller has left are ended before; throws
 * LeftoverError if one cannot be. The store has to be open, since its lock keeps another controller out.
 */
export async function openProviders(
  { execution, store }: Settings,
  { log, clock, opened }: Omit<SharedParts, 'adapting'>,
): Promise<{ readonly registry: ProviderRegistry } & Pick<ProgramRunner, 'isCopied'>> {
  const runner = opened.adopt(await ProgramRunner.open(join(store.directory, 'running'), log), (it) => it.close());
  const make = (entry: ProviderSettings): Provider => {
    if (entry.implementation === 'exec') return createExecProvider({ ...entry, runner, log });
    if (entry.implementation === 'http') return createHttpProvider({ ...entry, clock });
    return createSimulatedProvider(entry.options, clock);
  };
  const made = createProviderRegistry(execution.providers, make, execution.proxied);
  return { registry: opened.adopt(made, (it) => it.close()), isCopied: runner.isCopied };
}
