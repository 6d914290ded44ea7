import fc from 'fast-check';
import { expect, it } from 'vitest';
import { backoffMs } from '../../src/machine/call-outcome.ts';
import { RETRY } from '../reconcile/build.ts';

it.each([
  [1, 2_000],
  [2, 4_000],
  [3, 8_000],
  [8, 256_000],
  [9, 300_000],
  [10_000, 300_000],
])('doubles up to its limit: after try %d at most %d ms', (attempt, ms) => {
  expect(backoffMs(RETRY, attempt, () => 1)).toBe(ms);
  expect(backoffMs(RETRY, attempt, () => 0.5)).toBe(ms / 2);
  expect(backoffMs(RETRY, attempt, () => 0)).toBe(0);
});

it('is a whole number that no policy and no chance makes longer than allowed', () => {
  const policy = fc.record({ firstSeconds: fc.integer({ min: 1, max: 3600 }), maxSeconds: fc.integer({ min: 1 }) });
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(policy, fc.integer({ min: 1 }), chance, (seconds, attempt, random) => {
      const ms = backoffMs({ ...RETRY, ...seconds }, attempt, () => random);
      expect(Number.isInteger(ms)).toBe(true);
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThanOrEqual(seconds.maxSeconds * 1000);
    }),
  );
});
