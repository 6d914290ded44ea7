import { describe, expect, test } from 'vitest';
import type { Expiry } from '../../../src/api/tls/check-tls.ts';
import { ExpiryWarnings } from '../../../src/api/tls/expiry-warnings.ts';
import { createLog } from '../../../src/base/log.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const END = Date.parse('2027-01-01T00:00:00Z');

function endingAfter(what: Expiry['what'], days: number): Expiry {
  const part = ({ 'server certificate': 'cert', 'client authority': 'ca', 'revocation list': 'crl' } as const)[what];
  return { what, part, name: 'CN=Someone', from: END - days * DAY_MS, until: END };
}

function start() {
  const lines: { level: number; msg: string; expires: string; file: string; name: string }[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const warnings = new ExpiryWarnings({ log, fileOf: (part) => `/etc/${part}.pem` });
  return { lines, warnings };
}

test.each<[Expiry['what'], number, number]>([
  ['server certificate', 365, 30],
  ['server certificate', 40, 10],
  ['server certificate', 1, 0.25],
  ['client authority', 3650, 30],
  ['revocation list', 120, 30],
  ['revocation list', 4, 1],
])('a %s that holds for %d days is told %d days before its end', (what, life, lead) => {
  const { lines, warnings } = start();
  warnings.announce([endingAfter(what, life)], END - lead * DAY_MS - 1);
  expect(lines).toEqual([]);
  warnings.announce([endingAfter(what, life)], END - lead * DAY_MS);
  expect(lines).toHaveLength(1);
});

test('what never ends is never told', () => {
  const { lines, warnings } = start();
  warnings.announce([{ ...endingAfter('revocation list', 30), until: Number.POSITIVE_INFINITY }], END);
  expect(lines).toEqual([]);
});

describe('a line', () => {
  test('is a warning before the end, and an error after it, with what to do', () => {
    const { lines, warnings } = start();
    const list = endingAfter('revocation list', 30);
    warnings.announce([list], END - 1);
    warnings.announce([list], END + DAY_MS);
    const fields = { file: '/etc/crl.pem', name: 'CN=Someone', expires: '2027-01-01T00:00:00.000Z' };
    const meaning =
      'an expired one locks out every client that its authority vouches for, administrators included, so fetch a newer one';
    expect(lines).toMatchObject([
      { level: 40, ...fields, msg: `a revocation list expires soon: ${meaning} in time` },
      { level: 50, ...fields, msg: `a revocation list has expired: ${meaning} now` },
    ]);
  });

  test('comes once a day while it lasts, however often is asked', () => {
    const { lines, warnings } = start();
    const hours: number[] = [];
    for (let hour = 0; hour < 100; hour++) {
      const before = lines.length;
      warnings.announce([endingAfter('server certificate', 365)], END - 2 * DAY_MS + hour * HOUR_MS);
      if (lines.length > before) hours.push(hour);
    }
    expect(hours).toEqual([0, 24, 48, 72, 96]);
    expect(lines.map(({ level }) => level)).toEqual([40, 40, 50, 50, 50]);
  });

  test('comes at once for another certificate, and again for one that came back', () => {
    const { lines, warnings } = start();
    const one = endingAfter('server certificate', 365);
    const other = { ...one, name: 'CN=Another' };
    for (const expiries of [[one], [one, other], [one, other], [], [one]]) warnings.announce(expiries, END - DAY_MS);
    expect(lines.map(({ name }) => name)).toEqual(['CN=Someone', 'CN=Another', 'CN=Someone']);
  });
});
