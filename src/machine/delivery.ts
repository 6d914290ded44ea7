// The way of a record to its node: which of its records a node has confirmed, and how far
// that is from the present one. Pure; see docs/concepts.md, delivered, and ARCHITECTURE.md, "Delivered and render".

import type { ApplyOutcome, DeliveryRow, RecordMark, RecordVersion } from '../model/rows.ts';
import type { DeliveryState } from '../model/state.ts';

/** So many records of a node are known, the present one included; the one that it has applied besides, however old it is. */
const RECORDS_MAX = 4;

/** The record of a node at a moment. */
export interface PresentRecord {
  readonly digest: string;
  readonly incarnation: number;
  /** The followed commit. */
  readonly commit: string;
  /** RFC 3339, with milliseconds. */
  readonly time: string;
}

/** What a consumer says of a record. */
export interface Confirmation extends RecordMark {
  readonly outcome: ApplyOutcome;
  readonly message: string;
}

/**
 * Returns the row once the record is `present`: the same one where it is already. `last`: a followed commit at which the record was looked
 * at last; undefined: none since it came. A server that was made anew has applied nothing.
 */
export function withPresent(row: DeliveryRow, present: PresentRecord, last: string | undefined): DeliveryRow {
  const { digest, incarnation, commit: from, time: since } = present;
  const [first, ...former] = row.records;
  if (first.digest === digest && row.incarnation === incarnation) return row;
  const applied = row.incarnation === incarnation ? row.applied : null;
  const told = row.incarnation === incarnation ? row.told : null;
  if (first.digest === digest) return { ...row, incarnation, applied, told };
  const others = [{ ...first, until: last ?? first.from }, ...former].filter((known) => known.digest !== digest);
  return { ...row, records: [{ digest, from, since }, ...kept(others, applied)], incarnation, applied, told };
}

function kept(former: readonly RecordVersion[], applied: RecordMark | null): readonly RecordVersion[] {
  return former.filter(({ digest }, index) => index < RECORDS_MAX - 1 || digest === applied?.digest);
}

/** Returns the row of a node whose record was fetched; the same one where this one was before. `seen`: the record then. */
export function withFetch(
  row: DeliveryRow | undefined,
  fetched: RecordMark,
  { seen, present }: { readonly seen: PresentRecord; readonly present: PresentRecord },
): DeliveryRow {
  const known = row ?? rowOf(seen);
  const next = withPresent(known, present, undefined);
  return next.fetched?.digest === fetched.digest ? next : { ...next, fetched };
}

/** Returns the row of a node whose consumer says how it ended; the same one where it said so before. */
export function withConfirmation(
  row: DeliveryRow | undefined,
  { outcome, message, ...mark }: Confirmation,
  present: PresentRecord,
): DeliveryRow {
  const next = withPresent(row ?? rowOf(present), present, undefined);
  const { applied, told } = next;
  if (outcome === 'applied') {
    const isKnown = applied?.digest === mark.digest;
    if (isKnown && told === null) return next;
    const [first, ...former] = next.records;
    return { ...next, records: [first, ...kept(former, mark)], applied: isKnown ? applied : mark, told: null };
  }
  const isSame = told?.digest === mark.digest && told.outcome === outcome && told.message === message;
  // A run that changes nothing ends no failure.
  const isIdle = outcome === 'noop' && told?.outcome === 'failed';
  return isSame || isIdle ? next : { ...next, told: { ...mark, outcome, message } };
}

function rowOf({ digest, incarnation, commit: from, time: since }: PresentRecord): DeliveryRow {
  return { records: [{ digest, from, since }], incarnation, fetched: null, applied: null, told: null };
}

/** The way of a record, judged for a commit. */
export interface DeliveryJudgement {
  readonly state: DeliveryState;
  /** Delivered: since when. Else since when there is a newer record than the one that runs; null where that is not known. */
  readonly since: string | null;
  /** The commit with which the record came that follows the one that runs; null where it is delivered, and where none is known. */
  readonly before: string | null;
}

/**
 * Returns how far the record of a node has come. `isReached` tells of a commit at which a former record was in force whether that includes
 * the commit that is asked for; undefined: the present record alone counts.
 */
export function judgeDelivery(
  { records, applied, told }: DeliveryRow,
  isReached?: (until: string) => boolean,
): DeliveryJudgement {
  const index = applied === null ? -1 : records.findIndex(({ digest }) => digest === applied.digest);
  const until = records[index]?.until;
  const isThere = index === 0 || (until !== undefined && isReached?.(until) === true);
  const next = applied === null ? records.at(-1) : records[index - 1];
  const hasFailed = told?.outcome === 'failed' && (!isThere || told.digest === applied?.digest);
  if (isThere && hasFailed) return { state: 'failed', since: told.time, before: null };
  if (isThere) return { state: 'delivered', since: applied?.time ?? null, before: null };
  const before = applied === null ? null : (next?.from ?? null);
  return { state: hasFailed ? 'failed' : 'outdated', since: next?.since ?? null, before };
}
