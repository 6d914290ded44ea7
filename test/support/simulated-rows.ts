// Reads the file of a simulated provider, also while a controller uses it.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** A server that the simulated provider remembers. */
export interface SimulatedRow {
  readonly name: string;
  /** Null: it was removed. */
  readonly properties: Readonly<Record<string, string>> | null;
  /** The last one last. */
  readonly actions: readonly string[];
}

/** Returns the servers in the order of their last changes; none if there is no file. */
export function simulatedRows(file: string): readonly SimulatedRow[] {
  if (!existsSync(file)) return [];
  const database = new DatabaseSync(file, { readOnly: true, timeout: 5000 });
  try {
    const rows = database.prepare('SELECT name, properties, actions FROM servers ORDER BY rowid').all();
    return rows.map(({ name, properties, actions }) => ({
      name: String(name),
      properties: JSON.parse(String(properties)),
      actions: JSON.parse(String(actions)),
    }));
  } finally {
    database.close();
  }
}
