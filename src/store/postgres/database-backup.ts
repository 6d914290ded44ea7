// Copies a database into a backup, which is a file as of the embedded store, and a backup into an empty database. So
// the records move from one kind of store to the other.
import { withoutPause } from '../../base/breathe.ts';
import type { StoreDocument } from '../store-document.ts';
import { type BackedUp, exportStore, importStore, type RenewRows } from '../store-file.ts';
import type { DatabaseOptions } from './connection.ts';
import { migrate } from './migrate.ts';
import { PostgresAdapter } from './postgres-adapter.ts';
import { databaseError } from './postgres-error.ts';

/** Writes a backup of a database, as of one moment, also while replicas run. Throws StoreError if it cannot be read. */
export async function exportDatabase(database: DatabaseOptions, target: string): Promise<BackedUp> {
  const adapter = new PostgresAdapter(database, withoutPause);
  try {
    return await exportStore(adapter, target);
  } finally {
    await adapter.close();
  }
}

/**
 * Makes a database hold what the file `backup` holds, renewed, in one transaction; its tables are made if they are
 * missing. Throws StoreError, and leaves all as it was, if the backup is damaged and if the database has a commit.
 */
export async function importDatabase(
  database: DatabaseOptions,
  backup: string,
  renew: RenewRows,
): Promise<StoreDocument> {
  await migrate(database);
  const adapter = new PostgresAdapter(database, withoutPause);
  try {
    const { revision } = await adapter.read();
    if (revision > 0) {
      const why = `has ${revision} commits already`;
      const remedy = 'Stop all replicas, and name an empty database. Nothing was restored.';
      throw databaseError(adapter.address, { why, remedy });
    }
    return await importStore(backup, adapter, renew);
  } finally {
    await adapter.close();
  }
}
