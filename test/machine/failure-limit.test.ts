import { expect, it } from 'vitest';
import { failuresDigest } from '../../src/machine/hold-digests.ts';
import { failuresMax } from '../../src/machine/rollout.ts';

it.each([
  [1, 3],
  [3, 3],
  [60, 3],
  [61, 4],
  [80, 4],
  [100, 5],
  [101, 6],
  [10_000, 500],
])('failuresMax of %d updates is %d', (updates, failures) => {
  expect(failuresMax({ updates })).toBe(failures);
});

it('an approval of failures is for one commit', () => {
  expect(failuresDigest('c0ffee')).toBe('failures-c0ffee');
  expect(failuresDigest('beef')).not.toBe(failuresDigest('c0ffee'));
});
