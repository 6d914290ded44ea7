// Writes rows as JSON, and reads them. The wanted spec of a server, which is most of its row and rarely changes, is a
// row of its own, so that a step writes little.
import type { RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';

/**
 * The kind of the rows that hold the wanted specs of servers. It sorts before `server`, since a server's row is read
 * with its spec.
 */
export const WANTED_KIND = 'desired';
/** Stands in the JSON of a server in place of a spec that is the wanted one. */
const WANTED = 'wanted';

/** One row, or its removal if `value` is null. */
export interface Row<Kind extends RowKind = RowKind> {
  readonly kind: Kind;
  readonly name: string;
  readonly value: Rows[Kind] | null;
}

/** A row in a database: its value as JSON; null removes it. */
export type KeptRow = readonly [kind: string, name: string, value: string | null];

/** Returns the rows of a database that change if a row was `before` and becomes `row`. */
export function keptRows({ kind, name, value }: Row, before: Rows[RowKind] | undefined): readonly KeptRow[] {
  if (kind !== 'server') return [[kind, name, value === null ? null : JSON.stringify(value)]];
  const row = value as ServerRow | null;
  const wanted = row?.wanted ?? null;
  const kept: KeptRow = [kind, name, row === null ? null : JSON.stringify(withoutWanted(row))];
  if (wanted === ((before as ServerRow | undefined)?.wanted ?? null)) return [kept];
  return [kept, [WANTED_KIND, name, wanted === null ? null : JSON.stringify(wanted)]];
}

/** The kinds of rows, in the order in which a whole document is written. */
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

/** Returns the row whose JSON was parsed. `wanted` is that of a server, if a spec was kept for it. */
export function decodeRow(kind: RowKind, fields: unknown, wanted: Spec | undefined): Rows[RowKind] {
  if (kind !== 'server') return fields as Rows[RowKind];
  const row = fields as ServerRow;
  const read = (spec: Spec | typeof WANTED | null): Spec | null => (spec === WANTED ? (wanted ?? row.wanted) : spec);
  return {
    ...row,
    wanted: read(row.wanted),
    applied: read(row.applied),
    action: row.action === null ? null : { ...row.action, spec: read(row.action.spec) },
  };
}

function withoutWanted(row: ServerRow): object {
  const { wanted, applied, action } = row;
  const written = (spec: Spec | null): unknown => (spec !== null && spec === wanted ? WANTED : spec);
  const kept = { ...row, wanted: written(wanted), applied: written(applied) };
  return action === null ? kept : { ...kept, action: { ...action, spec: written(action.spec) } };
}
