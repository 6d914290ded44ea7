// Returns the options with which a command reaches the controller of a site.
import { join } from 'node:path';
import type { RunningController } from './running-controller.ts';
import type { Site } from './site.ts';

type Who = 'administrator' | 'automation-endpoint' | 'proxy';

/** Returns the options `--server`, `--cert`, `--key` and `--ca`; who asks need not be registered. */
export function commandLineOptions(
  { folder }: Site,
  { controller }: Pick<RunningController, 'controller'>,
  who: Who = 'administrator',
) {
  const pki = (name: string): string => join(folder, 'pki', name);
  return [
    ...['--server', `https://127.0.0.1:${controller.api.port}`],
    ...['--cert', pki(`${who}.crt`), '--key', pki(`${who}.key`), '--ca', pki('ca.crt')],
  ];
}
