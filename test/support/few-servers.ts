// The sample with few servers, for demos that come up in a third of the time.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Takes servers out of a copy of the sample, whose files are all left: all of production, and these resources of staging. */
export function leaveFewServers(sample: string, resources: readonly string[]): void {
  const substract = (name: string, keys: readonly string[]): void => {
    const path = join(sample, 'stacks/instances/shop', name);
    const text = readFileSync(path, 'utf8').replace(/^stackTemplateSubstractions:.*/ms, '');
    const without = keys.map((key) => `${key}: {}`).join(', ');
    writeFileSync(path, `${text}stackTemplateSubstractions:\n  resources: { ${without} }\n`);
  };
  substract('shop-production.yaml', ['cache', 'web', 'worker', 'balancer', 'mailtrap', 'reports']);
  substract('shop-staging.yaml', resources);
}
