// Creates the files of a controller in a folder of a benchmark. All is as a user gets it but the provider's times, and that servers
// are checked once an hour, as docs/scaling.md says for 100,000 of them: checked more often, they never rest.
import type { FileChanges } from '../test/support/git-repository.ts';
import { createSiteIn, type Site } from '../test/support/site-on-disk.ts';

export type { Site } from '../test/support/site-on-disk.ts';

const EXECUTION = `  providers:
    - { name: instant, provider: simulated, checkSeconds: 3600, options: { createMs: 0, updateMs: 0, deleteMs: 0 } }`;

/** Returns a site in an empty folder; its repository has one commit: `files`, and the administrator's registration. */
export function createSite(folder: string, files: FileChanges, store?: string): Promise<Site> {
  return createSiteIn(folder, { files, execution: EXECUTION, provider: 'instant', store });
}

/** The servers of each instance: the parts compare with one another by it. */
export const SERVERS_AN_INSTANCE = 10;

/** Returns the number of instances that have so many servers. */
export function instancesFor(servers: number): number {
  return Math.ceil(servers / SERVERS_AN_INSTANCE);
}
