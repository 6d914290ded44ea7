import fc from 'fast-check';
import { expect, it } from 'vitest';
import { backoffMs } from '../../src/machine/call-outcome.ts';
import { RETRY } from '../reconcile/build.ts';

it('the back-off is a whole number of milliseconds and at most the configured maximum', () => {
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
