// Copies a database into a backup, which has the format of the embedded store, and a backup into an empty database.
// This way, rows move from one kind of store to the other.
import { withoutPause } from '../../base/breathe.ts';
import type { StoreDocument } from '../store-document.ts';
import { type BackedUp, exportStore, importStore, type RenewRows } from '../store-file.ts';
import type { DatabaseOptions } from './connection.ts';
import { migrate } from './migrate.ts';
import { PostgresAdapter } from './postgres-adapter.ts';
import { databaseError } from './postgres-error.ts';

/** Writes a consistent backup of a database, even while replicas run. Throws StoreError if it cannot be read. */
export async function exportDatabase(database: DatabaseOptions, target: string): Promise<BackedUp> {
  const adapter = new PostgresAdapter(database, withoutPause);
  try {
    return await exportStore(adapter, target);
  } finally {
    await adapter.close();
  }
}

/**
 * Fills a database with the renewed content of the file `backup`, in one transaction. Creates missing tables. Throws
 * StoreError, without changes, if the backup is damaged or the database has a commit.
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
