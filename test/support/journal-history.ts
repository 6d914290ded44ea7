// Reads every version of every row, in order, from a store's journal. Only for journals that were never replaced by a
// snapshot.
import { readFileSync } from 'node:fs';
import { invariant } from '../../src/model/invariant.ts';
import type { RowKind, Rows } from '../../src/model/rows.ts';
import { frameAt } from '../../src/store/frame.ts';
import { type ChangedRow, decodeRow, type Row, withChanges } from '../../src/store/row-json.ts';

/** A row as one commit has left it; null: removed. */
export type Version = {
  readonly [Kind in RowKind]: { readonly kind: Kind; readonly name: string; readonly value: Rows[Kind] | null };
}[RowKind];

export interface History {
  /** The records as they stand in the file, each with its length and checksum; without a torn tail. */
  readonly records: readonly string[];
  readonly versions: readonly Version[];
}

/** Returns what the journal holds. */
export function readHistory(path: string): History {
  const bytes = readFileSync(path);
  const head = frameAt(bytes, 0);
  invariant(JSON.stringify(head?.value).endsWith('"after":0}'), 'the journal goes back to the beginning');
  const records: string[] = [];
  const versions: Version[] = [];
  let at = head?.end ?? 0;
  for (let frame = frameAt(bytes, at); frame !== undefined; frame = frameAt(bytes, at)) {
    records.push(bytes.toString('utf8', at, frame.end));
    const { rows } = frame.value as { readonly rows: readonly unknown[] };
    for (const json of rows) {
      const line = decodeRow(json, (kind): kind is RowKind => kind !== 'event');
      if (line !== undefined) versions.push(versionOf(line, versions));
    }
    at = frame.end;
  }
  return { records, versions };
}

function versionOf(line: Row | ChangedRow, versions: readonly Version[]): Version {
  const { kind, name } = line;
  if ('value' in line) return line as Version;
  const before = versions.findLast((version) => version.kind === kind && version.name === name)?.value ?? null;
  invariant(before !== null, 'only a row that is there is changed');
  return { kind, name, value: withChanges(line, before) } as Version;
}

/** Returns the versions of one kind. */
export function versionsOf<Kind extends RowKind>(
  { versions }: History,
  kind: Kind,
): readonly Extract<Version, { kind: Kind }>[] {
  return versions.filter((version): version is Extract<Version, { kind: Kind }> => version.kind === kind);
}
