// Creates the files of a controller for a benchmark. Everything has its default, except the provider's times, and
// checks once an hour, as docs/scaling.md recommends for 100,000 servers: with more frequent checks, the controller is
// never idle.
import type { FileChanges } from '../test/support/git-repository.ts';
import { createSiteIn, type Site } from '../test/support/site-on-disk.ts';

export type { Site } from '../test/support/site-on-disk.ts';

const EXECUTION = `  providers:
    - { name: instant, provider: simulated, checkSeconds: 3600, options: { createMs: 0, updateMs: 0, deleteMs: 0 } }`;

/** Returns a site in an empty folder; its repository has one commit: `files`, and the administrator's registration. */
export function createSite(folder: string, files: FileChanges, store?: string): Promise<Site> {
  return createSiteIn(folder, { files, execution: EXECUTION, provider: 'instant', store });
}

/** The number of servers of each instance, equal in all parts for comparison. */
export const SERVERS_AN_INSTANCE = 10;

/** Returns the number of instances for this number of servers. */
export function instancesFor(servers: number): number {
  return Math.ceil(servers / SERVERS_AN_INSTANCE);
}
