// Keeps every version of every row in the file of a store, by triggers: whoever writes the rows, each commit writes its history
// with them.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { RowKind, Rows } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import { Database } from '../../src/store/database.ts';
import { makeDirectory } from '../../src/store/files.ts';
import { decodeRow, WANTED_KIND } from '../../src/store/row-json.ts';
import { storePath } from '../../src/store/store-file.ts';

/** A row as one commit has left it; null: removed. */
export type Version = {
  readonly [Kind in RowKind]: { readonly kind: Kind; readonly name: string; readonly value: Rows[Kind] | null };
}[RowKind];

export interface History {
  /** Every version as it is kept, with the number of its commit. */
  readonly records: readonly string[];
  readonly versions: readonly Version[];
}

const TRIGGERS = `
  CREATE TABLE history (id INTEGER PRIMARY KEY, revision INTEGER, kind TEXT, name TEXT, value TEXT);
  CREATE TRIGGER kept AFTER INSERT ON rows BEGIN
    INSERT INTO history (revision, kind, name, value) VALUES (NEW.revision, NEW.kind, NEW.name, NEW.value);
  END;
  CREATE TRIGGER removed AFTER DELETE ON rows BEGIN
    INSERT INTO history (revision, kind, name, value) SELECT revision + 1, OLD.kind, OLD.name, NULL FROM state;
  END;
`;

/** Makes an empty store that keeps its history. */
export async function keepHistory(directory: string): Promise<void> {
  await makeDirectory(directory);
  const path = storePath(directory);
  new Database({ path, isReadOnly: false, use: 'store' }).close();
  const database = new DatabaseSync(path);
  database.exec(TRIGGERS);
  database.close();
}

/** Returns what a store has kept; nothing where there is none yet. */
export function readHistory(directory: string): History {
  const path = storePath(directory);
  if (!existsSync(path)) return { records: [], versions: [] };
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database
    .prepare('SELECT revision, kind, name, value FROM history ORDER BY id')
    .all() as unknown as Kept[];
  database.close();
  const wanted = new Map<string, Spec>();
  const records = rows.map(({ revision, kind, name, value }) => JSON.stringify([revision, kind, name, value]));
  return {
    records,
    versions: [...Map.groupBy(rows, ({ revision }) => revision).values()].flatMap((commit) =>
      versionsIn(commit, wanted),
    ),
  };
}

/** Returns the versions of one kind. */
export function versionsOf<Kind extends RowKind>(
  { versions }: History,
  kind: Kind,
): readonly Extract<Version, { kind: Kind }>[] {
  return versions.filter((version): version is Extract<Version, { kind: Kind }> => version.kind === kind);
}

interface Kept {
  readonly revision: number;
  readonly kind: string;
  readonly name: string;
  readonly value: string | null;
}

/** The wanted spec of a server is a row of its own, which a commit writes after the server's. */
function versionsIn(commit: readonly Kept[], wanted: Map<string, Spec>): Version[] {
  for (const { kind, name, value } of commit) {
    if (kind === WANTED_KIND && value !== null) wanted.set(name, JSON.parse(value));
  }
  return commit
    .filter(({ kind }) => kind !== WANTED_KIND)
    .map(({ kind, name, value }) => {
      const row = value === null ? null : decodeRow(kind as RowKind, JSON.parse(value), wanted.get(name));
      return { kind, name, value: row } as Version;
    });
}
