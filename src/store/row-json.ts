// Converts rows to JSON and back.
import type { RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';
import { newerVersion } from './store-error.ts';

/** Replaces a spec that equals the wanted one in a server's JSON, because a spec is most of the row. */
const WANTED = 'wanted';

/** One row, or its removal if `value` is null. */
export interface Row<Kind extends RowKind = RowKind> {
  readonly kind: Kind;
  readonly name: string;
  readonly value: Rows[Kind] | null;
}

/** A row in a database: its value as JSON; null removes it. */
export type KeptRow = readonly [kind: string, name: string, value: string | null];

/** The kinds of rows, in the order of a whole document. */
export const ROW_KINDS = Object.keys({
  head: true,
  recovery: true,
  pinned: true,
  terminating: true,
  node: true,
  held: true,
  approval: true,
  removal: true,
  suspension: true,
  acknowledgement: true,
  rollout: true,
  commit: true,
  commitStatus: true,
  seen: true,
  delivery: true,
  alert: true,
  notification: true,
  server: true,
} satisfies Readonly<Record<RowKind, true>>) as readonly RowKind[];

/** Returns a row in the form for databases. */
export function keptRow({ kind, name, value }: Row): KeptRow {
  if (value === null) return [kind, name, null];
  return [kind, name, JSON.stringify(kind === 'server' ? withWantedOnce(value as ServerRow) : value)];
}

/**
 * Returns the row that {@link keptRow} wrote. Throws StoreError for a row of another version. `path`: for the
 * message.
 */
export function readRow([kind, name, value]: KeptRow, path: string): Row {
  if (!isRowKind(kind)) throw newerVersion(path, `rows of a kind it does not know, "${kind}"`);
  const fields = value === null ? null : JSON.parse(value);
  return { kind, name, value: kind === 'server' && fields !== null ? withWantedAgain(fields) : fields };
}

function isRowKind(kind: string): kind is RowKind {
  return ROW_KINDS.some((known) => known === kind);
}

function withWantedOnce(row: ServerRow): object {
  const { wanted, applied, action } = row;
  const written = (spec: Spec | null): unknown => (spec !== null && spec === wanted ? WANTED : spec);
  return { ...row, applied: written(applied), action: action && { ...action, spec: written(action.spec) } };
}

function withWantedAgain(row: ServerRow): ServerRow {
  const { wanted, applied, action } = row;
  const read = (spec: Spec | typeof WANTED | null): Spec | null => (spec === WANTED ? wanted : spec);
  return { ...row, applied: read(applied), action: action && { ...action, spec: read(action.spec) } };
}
