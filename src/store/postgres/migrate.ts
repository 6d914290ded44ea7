// Makes the tables of a store in PostgreSQL, and brings those of an older version up to date: the one file that imports
// node-pg-migrate. The migrations are plain SQL, in migrations/ of the package.
import { readdirSync } from 'node:fs';
import type { RunnerOption } from 'node-pg-migrate';
import { productPath } from '../../base/product-files.ts';
import { reasonOf } from '../../base/wording.ts';
import { codeOf, StoreError } from '../store-error.ts';
import { DatabaseConnections, type DatabaseOptions, type RunStatement } from './connection.ts';
import { type DatabaseAddress, databaseError, NAME_PRIMARY, NOT_DIRECT } from './postgres-error.ts';
import {
  MIGRATIONS,
  RELATIONS,
  REPLICAS_CONNECTED,
  SCHEMA,
  SERVER_FACTS,
  SERVER_VERSION_MIN,
  SESSION_PROCESS,
  TABLE_WITHOUT_RIGHTS,
} from './statements.ts';

const TABLE = 'migrations';

/**
 * Makes or updates the tables, and returns the names of the migrations that it made. Needs the owner of the database, or of
 * an empty schema `treeline` in it, and a connection without a pooler. Of several processes one migrates, and the others wait for it. Throws
 * StoreError where the schema belongs to another program or to a newer version.
 */
export async function migrate(options: DatabaseOptions): Promise<readonly string[]> {
  const connections = new DatabaseConnections(options);
  const { address } = connections;
  const readSchemaFacts = async (run: RunStatement) => {
    await requireServer(run, address);
    const schema = await requireOwnSchema(run, address);
    const missing = missingAfter(schema.made);
    // Who migrates is the owner.
    if (missing.length === 0) await requireRights(run, address);
    return { ...schema, missing };
  };
  try {
    // Without a session, so that a pooler may stand between where there is nothing to make.
    if ((await connections.read(readSchemaFacts)).missing.length === 0) return [];
    return await connections.session(async (client, run) => {
      const { hasSchema, made: before, missing } = await readSchemaFacts(run);
      if (missing.length === 0) return [];
      // A pooler has process numbers of its own, and may give each statement another session: the lock would be in one of them.
      const [[process] = []] = await run(SESSION_PROCESS);
      if (process !== (client as { readonly processID?: number }).processID) throw databaseError(address, NOT_DIRECT);
      if (before.length > 0 && !missing.every(isCompatible)) await requireNoReplica(run, address);
      // Loaded here: at its start the package makes a folder in the temporary one, and most processes migrate nothing.
      const { runner } = await import('node-pg-migrate');
      const problems: string[] = [];
      const order: RunnerOption = {
        dbClient: client,
        dir: productPath('migrations'),
        direction: 'up',
        schema: SCHEMA,
        createSchema: !hasSchema,
        migrationsSchema: SCHEMA,
        migrationsTable: TABLE,
        singleTransaction: true,
        advisoryLockMode: 'wait',
        logger: { info: () => undefined, warn: () => undefined, error: (problem) => problems.push(problem) },
      };
      const made = await runner(order).catch((error: unknown) => {
        // Only some of its errors have a code; what a statement has failed with is in the log.
        throw codeOf(error) === undefined ? failedMigration(address, problems.at(-1) ?? reasonOf(error), error) : error;
      });
      return made.map(({ name }) => name);
    });
  } finally {
    await connections.close();
  }
}

/** Throws StoreError where the tables are not as this version needs them. */
export async function requireSchema(run: RunStatement, address: DatabaseAddress): Promise<void> {
  await requireServer(run, address);
  const { made } = await requireOwnSchema(run, address);
  const missing = missingAfter(made);
  if (missing.length === 0) return;
  const why =
    made.length === 0 ? 'has no tables of Treeline' : `was written by an older version: it lacks ${missing[0]}`;
  throw databaseError(address, { why, remedy: 'Start Treeline as the owner of the database, which makes them.' });
}

async function requireServer(run: RunStatement, address: DatabaseAddress): Promise<void> {
  const [[version, versionName, isStandby, encoding] = []] = await run(SERVER_FACTS);
  if (Number(version) < SERVER_VERSION_MIN) {
    const why = `is on PostgreSQL ${versionName}, which is too old`;
    throw databaseError(address, { why, remedy: `Use version ${SERVER_VERSION_MIN / 10_000} or newer.` });
  }
  if (isStandby === true) {
    const why = 'can only be read: it is a standby';
    throw databaseError(address, { why, remedy: NAME_PRIMARY, isPassing: true });
  }
  if (encoding !== 'UTF8') {
    const why = `has the encoding ${encoding}, which does not have all characters`;
    throw databaseError(address, { why, remedy: "Make it with ENCODING 'UTF8' TEMPLATE template0." });
  }
}

/** Throws StoreError where this user may not write a table: a replica without that would lead, or ask the leader, in vain. */
async function requireRights(run: RunStatement, address: DatabaseAddress): Promise<void> {
  const [[table] = []] = await run(TABLE_WITHOUT_RIGHTS);
  if (table === undefined) return;
  const why = `does not let "${address.user}" read and write the table ${SCHEMA}.${table}`;
  const remedy = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${SCHEMA} TO "${address.user}".`;
  throw databaseError(address, { why, remedy });
}

/** Returns the migrations that were made. Throws StoreError where another program has made the schema, or a version that this one cannot follow. */
async function requireOwnSchema(
  run: RunStatement,
  address: DatabaseAddress,
): Promise<{ readonly hasSchema: boolean; readonly made: readonly string[] }> {
  const [[hasSchema, relations] = []] = await run(RELATIONS);
  const tables = relations as readonly string[];
  const made = tables.includes(TABLE) ? await readMigrations(run) : [];
  const known = knownMigrations();
  const isUsable = (name: string): boolean => known.includes(name) || isCompatible(name);
  if (!made.some(isUsable) && tables.some((name) => name !== TABLE)) {
    const why = `has a schema "${SCHEMA}" of another program, with the table "${tables.find((name) => name !== TABLE)}"`;
    throw databaseError(address, { why, remedy: 'Give Treeline a database of its own.' });
  }
  const unknown = made.find((name) => !isUsable(name));
  if (unknown !== undefined) {
    const why = `was written by another version of Treeline: it has the migration "${unknown}"`;
    throw databaseError(address, { why, remedy: 'Start that version, or a newer one.' });
  }
  return { hasSchema: hasSchema === true, made };
}

/** The versions before one run on its tables, so that replicas can be upgraded one by one. docs/decisions/0004. */
function isCompatible(migration: string): boolean {
  return /^\d+_compatible_/.test(migration);
}

function missingAfter(made: readonly string[]): readonly string[] {
  return knownMigrations().filter((name) => !made.includes(name));
}

/** Throws StoreError while replicas run, which the new tables may break. */
async function requireNoReplica(run: RunStatement, address: DatabaseAddress): Promise<void> {
  const names = (await run(REPLICAS_CONNECTED)).map(([name]) => String(name));
  if (names.length === 0) return;
  const why = `has to be changed in a way that older versions cannot use, and is in use by ${names.join(', ')}`;
  throw databaseError(address, { why, remedy: 'Stop all replicas first, then start this version.' });
}

async function readMigrations(run: RunStatement): Promise<readonly string[]> {
  return (await run(MIGRATIONS)).map(([name]) => String(name));
}

function knownMigrations(): readonly string[] {
  return readdirSync(productPath('migrations'))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.replace(/\.sql$/, ''))
    .sort();
}

function failedMigration(address: DatabaseAddress, problem: string, cause: unknown): StoreError {
  const why = `could not be migrated: ${problem.replaceAll(/\s+/g, ' ').trim()}`;
  return new StoreError(databaseError(address, { why, remedy: 'Nothing was changed.' }).message, { cause });
}
