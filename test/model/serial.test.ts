import { describe, expect, test } from 'vitest';
import { canonicalFingerprint, canonicalSerial, serialFault } from '../../src/model/serial.ts';

test.each([
  ['0A1B', '0A1B'],
  ['a1b', '0A1B'],
  ['0x0a1b', '0A1B'],
  ['0X0A:1b', '0A1B'],
  ['0a 1b 2c', '0A1B2C'],
  ['0a-1b-2c', '0A1B2C'],
  ['00:00:1b', '1B'],
  ['0', '00'],
  ['ff'.repeat(32), 'FF'.repeat(32)],
])('canonicalSerial reads %s', (text, serial) => {
  expect(canonicalSerial(text)).toBe(serial);
});

describe('canonicalSerial refuses', () => {
  const PAIRS = 'separators must be between pairs of digits, and all the same';
  const NEGATIVE = 'it begins with "-", and a certificate with a negative serial is never accepted';
  test.each([
    ['', 'it has no digits'],
    ['0x', 'it has no digits'],
    ['-FF', NEGATIVE],
    ['-FF:01', NEGATIVE],
    ['0x-FF', NEGATIVE],
    ['FF-', PAIRS],
    [':FF', PAIRS],
    ['FF::01', PAIRS],
    ['FF:1', PAIRS],
    ['F:F1', PAIRS],
    ['FFFF:01', PAIRS],
    ['FF:01-02', PAIRS],
    [' FF', PAIRS],
    ['serial=FF', '"s" is not a hexadecimal digit'],
    ['FF\t01', '"\\t" is not a hexadecimal digit'],
    ['ＦＦ', '"Ｆ" is not a hexadecimal digit'],
    ['ff'.repeat(33), 'it has more than 64 digits'],
  ])('%j', (text, fault) => {
    expect(canonicalSerial(text)).toBeUndefined();
    expect(serialFault(text)).toBe(fault);
  });
});

test.each([
  'ab'.repeat(32),
  Array(32).fill('ab').join(':'),
  Array(32).fill('AB').join(' '),
  `sha256 Fingerprint=${Array(32).fill('AB').join(':')}`,
  `SHA256:${'ab'.repeat(32)}`,
])('canonicalFingerprint reads %s', (text) => {
  expect(canonicalFingerprint(text)).toBe(Array(32).fill('AB').join(':'));
});

test.each([`-${'ab'.repeat(32)}`, `${'ab'.repeat(32)}:`, `a:b${'ab'.repeat(31)}`, 'ab'.repeat(31), 'ab'.repeat(33)])(
  'canonicalFingerprint refuses %s',
  (text) => {
    expect(canonicalFingerprint(text)).toBeUndefined();
  },
);
