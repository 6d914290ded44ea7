// The settings of the simulated controllers: the provider entries of the sites, their retries, and the delete budget.
import { PROXIED } from '../../src/model/names.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { ExecutionSettings, ProviderSettings } from '../../src/model/settings.ts';
import type { Script } from './script.ts';
import { SITES } from './themes/theme.ts';
import { BUDGET } from './watch-deletes.ts';

/** How often a controller looks at the branch, in milliseconds. */
export const POLL_MS = 600_000;
const RETRY = { attempts: 3, firstSeconds: 2, maxSeconds: 30, failedSeconds: 300 };

/** Returns the settings of execution. */
export function executionOf({ drift }: Pick<Script, 'drift'>): ExecutionSettings {
  return {
    concurrency: 3,
    graceSeconds: 10,
    deleteBudget: { percent: 0, least: BUDGET, most: BUDGET },
    retry: RETRY,
    providers: SITES.map((name) => entryOf(name, drift?.[name] ?? 'report')),
    proxied: { name: PROXIED, concurrency: 3, retry: RETRY, timeoutSeconds: 60, checkSeconds: 300, drift: 'report' },
  };
}

/** Returns the provider entry of a site. */
export function entryOf(name: string, drift: DriftPolicy): ProviderSettings {
  return {
    name,
    match: { kind: null, properties: { site: name } },
    implementation: 'simulated',
    options: { file: '', createMs: 0, updateMs: 0, deleteMs: 0, checkMs: 0, failRate: 0, seed: 1 },
    timeoutSeconds: 60,
    checkSeconds: 300,
    drift,
    concurrency: 3,
    retry: RETRY,
  };
}

/** Returns the drift policy of a provider entry. */
export function policyIn({ providers }: ExecutionSettings, name: string): DriftPolicy {
  return providers.find((entry) => entry.name === name)?.drift ?? 'report';
}
