// Reads a whole database for a backup, and puts a backup into one. The backup is the same file as that of the embedded
// store, so that what is recorded moves from one kind of store to the other.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withoutPause } from '../../base/breathe.ts';
import { makeDirectory } from '../files.ts';
import { lockDirectory } from '../lock.ts';
import { countRows, type StoreDocument, setRow } from '../store-document.ts';
import { StoreError, StoreUnavailable } from '../store-error.ts';
import { type Restored, type RestoreOptions, readBackup, writeBackup } from '../store-file.ts';
import { DatabaseConnections, type DatabaseOptions } from './connection.ts';
import { migrate } from './migrate.ts';
import { PostgresAdapter } from './postgres-adapter.ts';
import { databaseError } from './postgres-error.ts';
import { REPLICAS_CONNECTED } from './statements.ts';

const STOP_REPLICAS = 'Stop all replicas first. Nothing was restored.';

/**
 * Returns what a database holds as of one moment, also while replicas run. Throws StoreError where it cannot be read.
 */
export async function readDatabase(database: DatabaseOptions): Promise<StoreDocument> {
  await using adapter = openAdapter(database);
  return await adapter.it.read();
}

/** Where the rows go that are replaced, and who follows the progress. */
interface DatabaseRestoreOptions extends RestoreOptions {
  /** That of the store. */
  readonly directory: string;
  readonly progress: (step: string) => void;
}

/**
 * Makes a database hold what the file `backup` holds, in one transaction; its tables are made where they are missing.
 * With `force` the rows that it replaces are kept in a backup in the directory. Throws StoreError, and leaves all as it
 * was, where the backup is damaged, where a replica runs, and where rows would be replaced without `force`.
 */
export async function restoreDatabase(
  database: DatabaseOptions,
  backup: string,
  { directory, force, now, renew, progress: tell }: DatabaseRestoreOptions,
): Promise<Restored> {
  const document = await readBackup(backup);
  tell(`read the backup: ${countRows(document.tables)} rows`);
  using _lock = lockOwn(directory);
  await migrate(database);
  await requireNoReplica(database);
  await using adapter = openAdapter(database);
  const present = await readPresent(adapter.it, force);
  const rows = present === undefined ? 0 : countRows(present.tables);
  if (rows > 0 && !force) throw refusal(adapter.it, `holds rows already (${rows})`);
  const former = present === undefined || rows === 0 ? null : await keepAside(present, directory, now);
  for (const change of renew({ list: (kind) => document.tables[kind] })) setRow(document.tables, change);
  tell(`writing to ${adapter.it.name}`);
  await adapter.it.write(document);
  tell('reading what was written');
  return { document: await adapter.it.read(), former };
}

/** A directory that is not there belongs to a replica of another machine. */
function lockOwn(directory: string): Disposable | undefined {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  const own = process.getuid?.();
  if (own !== undefined && found.uid !== own) {
    throw new StoreError(
      `The directory ${directory} belongs to the user with the id ${found.uid}, and you are ${own}. Run this as that user ` +
        `(setpriv --reuid=${found.uid}, or sudo -u). Nothing was restored.`,
    );
  }
  return lockDirectory(directory, STOP_REPLICAS);
}

/** The adapter refuses itself while one leads. */
async function requireNoReplica(database: DatabaseOptions): Promise<void> {
  const connections = new DatabaseConnections(database);
  try {
    const names = (await connections.read((run) => run(REPLICAS_CONNECTED))).map(([name]) => String(name));
    if (names.length === 0) return;
    const why = `is in use by the ${names.length === 1 ? 'replica' : 'replicas'} ${names.join(', ')}`;
    throw databaseError(connections.address, { why, remedy: STOP_REPLICAS });
  } finally {
    await connections.close();
  }
}

/** Returns what would be replaced; undefined where it cannot be read, and `force` allows that. */
async function readPresent(adapter: PostgresAdapter, force: boolean): Promise<StoreDocument | undefined> {
  try {
    return await adapter.read();
  } catch (error) {
    if (!(error instanceof StoreError) || error instanceof StoreUnavailable) throw error;
    if (!force) throw refusal(adapter, `cannot be read (${error.message})`);
    return undefined;
  }
}

function refusal({ name }: PostgresAdapter, present: string): StoreError {
  return new StoreError(
    `${name[0]?.toUpperCase()}${name.slice(1)} ${present}. To replace its rows with the backup, say --force; they are kept in a ` +
      'backup of their own then, if they can be read. Nothing was restored.',
  );
}

async function keepAside(present: StoreDocument, directory: string, now: number): Promise<string> {
  if (!existsSync(directory)) await makeDirectory(directory);
  const file = join(directory, `replaced-${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}.backup`);
  await writeBackup(present, file);
  return file;
}

function openAdapter(database: DatabaseOptions): AsyncDisposable & { readonly it: PostgresAdapter } {
  const it = new PostgresAdapter(database, withoutPause);
  return { it, [Symbol.asyncDispose]: () => it.close() };
}
