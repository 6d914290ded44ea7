// Corrects recorded times after the clock was set. Rows keep wall-clock time, since people and programs read it; but no
// server may wait only because the clock was ahead when the row was written, and what counts for an hour or a day counts so
// long, however far the clock is set forward. Pure.

import { momentOf } from '../base/wording.ts';
import type { Change, RecoveryRow, RowKind, Rows, RunningAction, ServerRow } from '../model/rows.ts';
import type { Store } from '../store/store.ts';

interface Correction {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** How far the clock was just set forward; negative: back; 0 if unknown, as at a start. */
  readonly byMs: number;
  /** It was set at most so long ago: what is younger may have its time from the clock as it is now. */
  readonly sinceMs: number;
  /** The longest that a server waits for its next try. */
  readonly waitMsMax: number;
}

type Read = Pick<Store, 'list'>;

/**
 * Returns the changes after which no row holds a future time except waits: those keep their remaining time, up to the
 * longest wait. The end of a suspension, or of an acknowledgement, is unchanged: a person set that time. After a step forward, the store, and deletes and
 * heals that count, are as old as before.
 */
export function stampCorrections(store: Read, correction: Correction): readonly Change[] {
  const { now } = correction;
  return [
    ...correctRows(store, 'server', (row) => correctedServer(row, correction)),
    ...correctRows(store, 'held', (row) => ({ since: notAfter(row.since, now) })),
    ...correctRows(store, 'approval', (row) => ({ time: notAfter(row.time, now) })),
    ...correctRows(store, 'removal', (row) => ({ time: asOldAsBefore(row.time, correction) })),
    ...correctRows(store, 'suspension', (row) => ({ since: notAfter(row.since, now) })),
    ...correctRows(store, 'acknowledgement', (row) => ({ since: notAfter(row.since, now) })),
    ...correctRows(store, 'recovery', (row) => correctedRecovery(row, correction)),
  ];
}

/** What may still run, runs as long as before, however the clock is set. */
function correctedRecovery({ since, notBefore }: RecoveryRow, correction: Correction): Partial<RecoveryRow> {
  const began = asOldAsBefore(since, correction);
  return { since: began, notBefore: momentOf(Date.parse(notBefore) + Date.parse(began) - Date.parse(since)) };
}

function correctedServer({ since, due, action, healing }: ServerRow, correction: Correction): Partial<ServerRow> {
  return {
    ...(healing === undefined ? {} : { healing: correctedHealing(healing, correction) }),
    since: notAfter(since, correction.now),
    due: due === null ? null : correctedDue(due, correction),
    action: action === null ? null : correctedAction(action, correction),
  };
}

function correctedHealing(
  healing: NonNullable<ServerRow['healing']>,
  correction: Correction,
): NonNullable<ServerRow['healing']> {
  const isPast = Object.values(healing).every((times) => times.every((time) => Date.parse(time) <= correction.now));
  if (isPast && correction.byMs <= 0) return healing;
  const entries = Object.entries(healing).map(([name, times]) => [
    name,
    times.map((time) => asOldAsBefore(time, correction)),
  ]);
  return Object.fromEntries(entries);
}

function correctedDue(due: string, { now, byMs, waitMsMax }: Correction): string {
  const time = Date.parse(due);
  return time <= now ? due : momentOf(Math.min(time + Math.min(byMs, 0), now + waitMsMax));
}

/**
 * An action keeps its remaining time. One that may have begun after the clock was set keeps its deadline: it must not count as
 * over while it runs, and at worst it is waited for as long as it could have run from now on.
 */
function correctedAction(action: RunningAction, { now, byMs, sinceMs }: Correction): RunningAction {
  const started = Date.parse(action.started);
  const deadline = Date.parse(action.deadline);
  const shiftMs = Math.max(-byMs, started - now);
  const mayBeYounger = started <= now && started >= now - sinceMs;
  if (shiftMs <= 0 || deadline <= now || mayBeYounger) return action;
  return { ...action, started: momentOf(started - shiftMs), deadline: momentOf(deadline - shiftMs) };
}

/** What was written since the clock was set, has its time from the clock as it is now. */
function asOldAsBefore(moment: string, { byMs, now }: Correction): string {
  return notAfter(byMs <= 0 ? moment : momentOf(Date.parse(moment) + byMs), now);
}

function notAfter(moment: string, now: number): string {
  return Date.parse(moment) > now ? momentOf(now) : moment;
}

function correctRows<Kind extends Exclude<RowKind, 'head'>>(
  store: Read,
  kind: Kind,
  correct: (row: Rows[Kind]) => Partial<Rows[Kind]>,
): Change[] {
  return [...store.list(kind)].flatMap(([name, expected]) => {
    const corrected = correct(expected);
    const fields = Object.keys(corrected) as (keyof Rows[Kind])[];
    if (fields.every((field) => corrected[field] === expected[field])) return [];
    return [{ kind, name, value: { ...expected, ...corrected }, expected } as Change];
  });
}
