// Writes rows as JSON, and reads them. A spec that a server's row holds several times is written once, and of a row that
// changes, the journal gets the fields that change.
import { isMap } from '../model/json.ts';
import type { Change, RowKind, Rows, ServerRow } from '../model/rows.ts';
import type { Spec } from '../model/spec.ts';

/** Stands in the JSON in place of a spec that is the wanted one. */
const WANTED = 'wanted';
/** The fourth item of a line that holds only the changed fields of a row. */
const CHANGED = 'changed';
/** The bytes that a record of a snapshot has around a row. */
const FRAME_BYTES = 19;

/** One row as it is written, or its removal where `value` is null. */
export interface Row<Kind extends RowKind = RowKind> {
  readonly kind: Kind;
  readonly name: string;
  readonly value: Rows[Kind] | null;
}

/** Fields of a row as they are written. */
type Fields = Readonly<Record<string, unknown>>;

/** The changed fields of a row that is there. */
export interface ChangedRow {
  readonly kind: RowKind;
  readonly name: string;
  readonly changed: Fields;
}

/** A change as it is written. */
export interface EncodedChange {
  readonly json: string;
  /** How many more bytes all rows take in a snapshot; negative where they take fewer. */
  readonly growth: number;
}

/** Returns a row as JSON: `["server","web-1",{…}]`, or with null for a removal. */
export function encodeRow({ kind, name, value }: Row): string {
  return JSON.stringify([kind, name, value === null ? null : writtenFields(kind, value)]);
}

/** Returns the bytes that a row takes in a snapshot. */
export function bytesOfRow(row: Row): number {
  return Buffer.byteLength(encodeRow(row)) + FRAME_BYTES;
}

/** Returns true if the row holds a spec besides the wanted one: it may be equal, and is written as such then. */
export function hasOtherSpec({ kind, value }: Row): boolean {
  if (kind !== 'server' || value === null) return false;
  const { wanted, applied, action } = value as ServerRow;
  return [applied, action?.spec ?? null].some((spec) => spec !== null && spec !== wanted);
}

/**
 * Returns a change as JSON: the row as {@link encodeRow} writes it, or `["server","web-1",{…},"changed"]` with the fields
 * that differ from the row that is expected to be there.
 */
export function encodeChange({ kind, name, value, expected }: Change): EncodedChange {
  if (value !== null && expected !== undefined) {
    const before = writtenFields(kind, expected);
    const changed = changedFields(before, writtenFields(kind, value));
    if (changed !== undefined) return encodeFields({ kind, name, changed }, before);
  }
  const json = encodeRow({ kind, name, value });
  const bytesBefore = expected === undefined ? 0 : bytesOfRow({ kind, name, value: expected });
  const bytesAfter = value === null ? 0 : Buffer.byteLength(json) + FRAME_BYTES;
  return { json, growth: bytesAfter - bytesBefore };
}

/** Returns the row or the changed fields that were written, from their parsed JSON; undefined for anything else. */
export function decodeRow(json: unknown, isRowKind: (kind: string) => kind is RowKind): Row | ChangedRow | undefined {
  if (!Array.isArray(json) || (json.length !== 3 && json.length !== 4)) return undefined;
  const [kind, name, value, mark]: unknown[] = json;
  if (typeof kind !== 'string' || !isRowKind(kind) || typeof name !== 'string') return undefined;
  if (json.length === 4) return mark === CHANGED && isMap(value) ? { kind, name, changed: value } : undefined;
  if (value !== null && !isMap(value)) return undefined;
  return { kind, name, value: value === null ? null : readFields(kind, value) };
}

/** Returns a row with the changed fields of a line. */
export function withChanges({ kind, changed }: ChangedRow, before: Rows[RowKind]): Rows[RowKind] {
  // The fields that do not change are as they were read: what stands for the wanted spec is written with each change of that.
  return readFields(kind, { ...before, ...changed });
}

/** Returns how many more bytes a row takes in a snapshot once `line` has changed it. */
export function growthBy({ kind, changed }: ChangedRow, before: Rows[RowKind]): number {
  return growthOf(JSON.stringify(changed), changed, writtenFields(kind, before));
}

function encodeFields({ kind, name, changed }: ChangedRow, before: Fields): EncodedChange {
  const json = JSON.stringify(changed);
  const line = `["${kind}",${JSON.stringify(name)},${json},"${CHANGED}"]`;
  return { json: line, growth: growthOf(json, changed, before) };
}

function growthOf(json: string, changed: Fields, before: Fields): number {
  const former = Object.fromEntries(Object.keys(changed).flatMap((key) => (key in before ? [[key, before[key]]] : [])));
  // A field that is new in the row brings a comma with it, also where it is the only one here.
  const commas = Object.keys(changed).length > 0 && Object.keys(former).length === 0 ? 1 : 0;
  return Buffer.byteLength(json) - Buffer.byteLength(JSON.stringify(former)) + commas;
}

/** Returns the fields of `after` that `before` has otherwise; undefined where it has fields that are gone, or all differ. */
function changedFields(before: Fields, after: Fields): Fields | undefined {
  const changed: Record<string, unknown> = {};
  let same = 0;
  for (const key of Object.keys(after)) {
    const isOther = after[key] === WANTED && after.wanted !== before.wanted;
    if (after[key] === before[key] && !isOther) same += 1;
    else changed[key] = after[key];
  }
  const isGone = Object.keys(before).some((key) => before[key] !== undefined && after[key] === undefined);
  return isGone || same === 0 ? undefined : changed;
}

function writtenFields(kind: RowKind, value: Rows[RowKind]): Fields {
  if (kind !== 'server') return value as unknown as Fields;
  const row = value as ServerRow;
  const { wanted, applied, action } = row;
  const written = (spec: Spec | null): unknown => (spec !== null && spec === wanted ? WANTED : spec);
  return {
    ...row,
    applied: written(applied),
    action: action === null ? null : { ...action, spec: written(action.spec) },
  };
}

/** The checksum around a line vouches that it is what {@link encodeRow} or {@link encodeChange} wrote. */
function readFields(kind: RowKind, fields: Fields): Rows[RowKind] {
  if (kind !== 'server') return fields as unknown as Rows[RowKind];
  const { wanted, applied, action } = fields as unknown as ServerRow;
  const read = (spec: Spec | 'wanted' | null): Spec | null => (spec === WANTED ? wanted : spec);
  return {
    ...(fields as unknown as ServerRow),
    applied: read(applied),
    action: action === null ? null : { ...action, spec: read(action.spec) },
  };
}
