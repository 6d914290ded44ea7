import { expect, it } from 'vitest';
import { suspendedUntil } from '../../src/machine/suspension.ts';
import type { SuspensionRow } from '../../src/model/rows.ts';

const NOW = Date.parse('2026-11-20T10:20:00Z');

function suspension(until: string | null): SuspensionRow {
  return { by: 'A1', reason: '', since: '2026-11-20T10:00:00.000Z', until };
}

it.each<[name: string, row: SuspensionRow | undefined, until: number | undefined]>([
  ['it is not suspended', undefined, undefined],
  ['only an operator ends it', suspension(null), Number.POSITIVE_INFINITY],
  ['it ends later', suspension('2026-11-20T10:20:00.001Z'), NOW + 1],
  ['it ends later, in another time zone', suspension('2026-11-20T12:30:00+02:00'), NOW + 600_000],
  ['it ends now', suspension('2026-11-20T10:20:00Z'), undefined],
  ['it has ended', suspension('2026-11-20T10:19:59Z'), undefined],
])('%s', (_name, row, until) => {
  expect(suspendedUntil(row, NOW)).toBe(until);
});
