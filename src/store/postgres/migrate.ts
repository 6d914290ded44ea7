// Creates the tables of a store in PostgreSQL, and migrates those of an older version. The migrations are plain SQL, in
// migrations/ of the package.
import { readdirSync, readFileSync } from 'node:fs';
import { productPath } from '../../base/product-files.ts';
import { DatabaseConnections, type DatabaseOptions, type RunStatement } from './connection.ts';
import { type DatabaseAddress, databaseError, NAME_PRIMARY } from './postgres-error.ts';
import { RELATIONS, SCHEMA, SERVER_FACTS, SERVER_VERSION_MIN, TABLE_WITHOUT_RIGHTS } from './statements.ts';

const TABLE = 'migrations';

/**
 * Creates or updates the tables in one transaction, and resolves with the names of the applied migrations. Requires
 * the owner of the database, or of an empty schema `treeline` in it. Of several processes, one migrates and the others
 * wait. Assigns the tables to the installation `id`, if given. Throws StoreError if the schema belongs to another
 * program, to a newer version or to another installation.
 */
export async function migrate(options: DatabaseOptions, id?: string): Promise<readonly string[]> {
  const connections = new DatabaseConnections(options);
  const { address } = connections;
  try {
    return await connections.write(async (run) => {
      await requireServer(run, address);
      await run(`SELECT pg_advisory_xact_lock(hashtextextended('${SCHEMA}.migrations', 0))`);
      const { hasSchema, made } = await requireOwnSchema(run, address);
      const missing = missingAfter(made);
      // A migrating user is the owner and has all rights.
      if (missing.length === 0) await requireRights(run, address);
      else if (made.length === 0) await makeTable(run, hasSchema);
      for (const name of missing) {
        await run(readFileSync(productPath(`migrations/${name}.sql`), 'utf8'));
        await run(`INSERT INTO ${SCHEMA}.migrations (name) VALUES ($1)`, [name]);
      }
      if (id !== undefined) await claim(run, { id, address });
      return missing;
    });
  } finally {
    await connections.close();
  }
}

async function makeTable(run: RunStatement, hasSchema: boolean): Promise<void> {
  if (!hasSchema) await run(`CREATE SCHEMA ${SCHEMA}`);
  const columns = 'name text PRIMARY KEY, made_at timestamptz NOT NULL DEFAULT now()';
  await run(`CREATE TABLE IF NOT EXISTS ${SCHEMA}.migrations (${columns})`);
}

async function claim(
  run: RunStatement,
  { id, address }: { readonly id: string; readonly address: DatabaseAddress },
): Promise<void> {
  await run(`UPDATE ${SCHEMA}.state SET id = $1::text WHERE id IS NULL`, [id]);
  const [[owner] = []] = await run(`SELECT id FROM ${SCHEMA}.state`);
  if (owner === id) return;
  const why = `belongs to the installation "${owner}", and this one is "${id}" (id in the settings)`;
  throw databaseError(address, { why, remedy: 'Give each installation a database of its own.' });
}

/** Throws StoreError if the tables do not have the form of this version. */
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

/** Throws StoreError if this user may not write a table, since a replica without that right is useless. */
async function requireRights(run: RunStatement, address: DatabaseAddress): Promise<void> {
  const [[table] = []] = await run(TABLE_WITHOUT_RIGHTS);
  if (table === undefined) return;
  const why = `does not let "${address.user}" read and write the table ${SCHEMA}.${table}`;
  const remedy = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${SCHEMA} TO "${address.user}".`;
  throw databaseError(address, { why, remedy });
}

/**
 * Resolves with the applied migrations. Throws StoreError if another program or an unknown version created the schema.
 */
async function requireOwnSchema(
  run: RunStatement,
  address: DatabaseAddress,
): Promise<{ readonly hasSchema: boolean; readonly made: readonly string[] }> {
  const [[hasSchema, relations] = []] = await run(RELATIONS);
  const tables = relations as readonly string[];
  const rows = tables.includes(TABLE) ? await run(`SELECT name FROM ${SCHEMA}.migrations ORDER BY name`) : [];
  const made = rows.map(([name]) => String(name));
  const known = knownMigrations();
  if (made.length === 0 && tables.some((name) => name !== TABLE)) {
    const why = `has a schema "${SCHEMA}" of another program, with the table "${tables.find((name) => name !== TABLE)}"`;
    throw databaseError(address, { why, remedy: 'Give Treeline a database of its own.' });
  }
  const unknown = made.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const why = `was written by another version of Treeline: it has the migration "${unknown}"`;
    throw databaseError(address, { why, remedy: 'Start that version, or a newer one.' });
  }
  return { hasSchema: hasSchema === true, made };
}

function missingAfter(made: readonly string[]): readonly string[] {
  return knownMigrations().filter((name) => !made.includes(name));
}

function knownMigrations(): readonly string[] {
  return readdirSync(productPath('migrations'))
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.replace(/\.sql$/, ''))
    .sort();
}
