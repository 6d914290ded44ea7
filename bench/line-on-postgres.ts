// The part of the benchmark `line` on PostgreSQL: a database server that syncs to disk like that of an installation,
// the same line with this store, and small reads of a standby while the leader creates all servers.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PostgresServer, startPostgresServer } from '../test/support/postgres-server.ts';
import { repositoryFiles } from '../test/support/sized-repository.ts';
import { KINDS } from './line-run.ts';
import { ServedController } from './served-controller.ts';
import { createSite, instancesFor, SERVERS_AN_INSTANCE } from './site.ts';
import { delaysOf, READ_NODE, readWhile } from './small-reader.ts';

const DONE_MS_MAX = 15 * 60_000;
const INSTANCES = 'stacks/instances/';

/** The number and the times of small reads of a standby, in milliseconds. */
export interface StandbyReads {
  readonly servers: number;
  readonly count: number;
  readonly p99: number;
  readonly worst: number;
}

/** Starts a database server with default settings. */
export function startDatabase(): Promise<PostgresServer> {
  return startPostgresServer(['fsync=on', 'full_page_writes=on', 'scram_iterations=4096']);
}

/** Returns the setting `store` with an empty database of a server. */
export async function createStore(database: PostgresServer): Promise<string> {
  return `{ kind: postgres, url: "${await database.create()}", directory: state }`;
}

/**
 * Reads from a standby while the leader follows a commit that creates all servers, until the standby shows all of
 * them as done.
 */
export async function measureStandbyReads(folder: string, servers: number, store: string): Promise<StandbyReads> {
  const instances = instancesFor(servers);
  const files = Object.entries(repositoryFiles({ instances, servers: SERVERS_AN_INSTANCE, kinds: KINDS }));
  const first = Object.fromEntries(files.filter(([path]) => !path.startsWith(INSTANCES)));
  const site = await createSite(folder, { ...first, ...READ_NODE }, store);
  const leader = new ServedController(site, 'leader');
  await leader.ready();
  const config = join(folder, 'standby.yaml');
  writeFileSync(
    config,
    `${readFileSync(site.config, 'utf8').replace('directory: state', 'directory: standby')}replica: { name: standby }\n`,
  );
  const standby = new ServedController({ ...site, config }, 'standby');
  await standby.ready();
  const others = Object.fromEntries(files.filter(([path]) => path.startsWith(INSTANCES)));
  const { reads } = await readWhile(standby, async () => {
    await leader.follow(others, instances * SERVERS_AN_INSTANCE, DONE_MS_MAX);
    await standby.quiet();
  });
  const statuses = [...(await standby.statuses()).values()];
  if (statuses.length !== instances || statuses.some((status) => status !== 'Done'))
    throw new Error('the standby does not show that all servers are done');
  await standby.stop();
  await leader.stop();
  return { servers, count: reads.length, ...delaysOf(reads) };
}
