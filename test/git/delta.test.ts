import { describe, expect, it } from 'vitest';
import { applyDelta, sizeAfterDelta } from '../../src/git/delta.ts';

const BASE = Buffer.from('0123456789');

/** A delta by its bytes; the sizes of base and result come first. */
function delta(...bytes: readonly number[]): Buffer {
  return Buffer.from(bytes);
}

describe('applyDelta', () => {
  it.each([
    ['inserts', delta(10, 3, 3, 0x61, 0x62, 0x63), 'abc'],
    ['copies', delta(10, 4, 0x91, 2, 4), '2345'],
    ['copies from the beginning', delta(10, 2, 0x90, 2), '01'],
    ['copies and inserts', delta(10, 4, 0x90, 2, 2, 0x78, 0x79), '01xy'],
    ['makes nothing', delta(10, 0), ''],
  ])('%s', (_, bytes, expected) => {
    expect(applyDelta(BASE, bytes).toString()).toBe(expected);
    expect(sizeAfterDelta(bytes)).toBe(expected.length);
  });

  it('reads sizes and offsets of several bytes, and 64 KiB where a copy gives no size', () => {
    const base = Buffer.alloc(200_000, 'x');
    base.write('here', 70_000);
    // 200,000 is c0 9a 0c, seven bits a byte; the result is 65,536 + 4 = 84 80 04.
    const bytes = delta(0xc0, 0x9a, 0x0c, 0x84, 0x80, 0x04, 0x80, 0x97, 0x70, 0x11, 0x01, 4);
    const made = applyDelta(base, bytes);
    expect(made.length).toBe(65_540);
    expect(made.toString('latin1', 65_536)).toBe('here');
  });

  it.each([
    ['another base', delta(9, 1, 0x90, 1), /belongs to another base/],
    ['the reserved command', delta(10, 1, 0), /reserved command/],
    ['a copy beyond the base', delta(10, 4, 0x91, 8, 4), /another size than it says/],
    ['an insert that is cut off', delta(10, 4, 4, 0x61), /another size than it says/],
    ['too much', delta(10, 1, 0x90, 2), /another size than it says/],
    ['a size that is cut off', delta(10, 0x80), /out of range/],
    ['a copy that is cut off', delta(10, 4, 0x91), /out of range/],
  ])('refuses %s', (_, bytes, message) => {
    expect(() => applyDelta(BASE, bytes)).toThrow(message);
  });
});
