// Has sites of tests keep their store in a PostgreSQL database, where SCENARIO_STORE says so: one server for a run, which vitest starts
// before the first test, and a database for each site. Without it, sites have the embedded store.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startPostgresServer } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of a database with tables of Treeline, for its owner, and one for the superuser. */
    readonly scenarioDatabase: { readonly owner: string; readonly superuser: string };
  }
}

/** True where sites keep their store in a database. */
export const IS_ON_POSTGRES = process.env.SCENARIO_STORE === 'postgres';

/** Vitest calls it before the first test of a project whose sites are on PostgreSQL. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgresServer(['max_connections=400']);
  const superuser = server.urlOf('postgres', 'postgres');
  project.provide('scenarioDatabase', { owner: server.urlOf('made'), superuser });
  return () => server.remove();
}

/** Makes a database of its own for a site in `folder`, and returns the setting `store` with it. `atEnd` gets what removes it. */
export async function createScenarioDatabase(
  folder: string,
  { owner, superuser }: { readonly owner: string; readonly superuser: string },
  atEnd: (remove: () => Promise<void>) => void,
): Promise<string> {
  const name = `s${randomUUID().replaceAll('-', '')}`;
  const run = (statement: string): Promise<void> => runStatement(superuser, statement);
  await run(`CREATE DATABASE ${name} OWNER treeline TEMPLATE made`);
  // A killed controller leaves connections.
  atEnd(() => run(`DROP DATABASE ${name} WITH (FORCE)`));
  writeFileSync(join(folder, 'database-url'), owner.replace(/\/made$/, `/${name}`), { mode: 0o600 });
  return '{ kind: postgres, urlFile: database-url, directory: state }';
}

async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}
