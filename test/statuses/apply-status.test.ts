// The states and words of commit statuses, from numbers alone.
import { describe, expect, it } from 'vitest';
import type { Stall } from '../../src/machine/chain.ts';
import type { State } from '../../src/model/state.ts';
import { headStatus, type Progress } from '../../src/statuses/wanted-statuses.ts';

const NOTHING_HELD = { servers: 0, instances: 0 };

function progressOf(done: number, states: readonly State[] = []): Progress {
  const [failed, blocked] = (['failed', 'blocked'] as const).map(
    (state) => states.filter((one) => one === state).length,
  );
  return { done, open: states.length, failed: failed ?? 0, blocked: blocked ?? 0 };
}

describe('the status of the followed commit', () => {
  it.each<[string, Progress, Stall | undefined, string]>([
    ['nothing', progressOf(0), undefined, 'success: no server left to change'],
    ['all done', progressOf(3), undefined, 'success: 3 servers done'],
    ['retries', progressOf(5, ['retrying', 'unknown']), undefined, 'in progress: 7 servers: 5 done'],
    ['a failed one', progressOf(1, ['failed', 'pending']), undefined, 'failure: 3 servers: 1 failed, 1 done'],
    ['a blocked one', progressOf(1, ['blocked']), undefined, 'failure: 2 servers: 1 blocked, 1 done'],
    [
      'several',
      progressOf(9, ['failed', 'failed', 'blocked']),
      undefined,
      'failure: 12 servers: 2 failed, 1 blocked, 9 done',
    ],
    [
      'a stall by failures',
      progressOf(1, ['pending']),
      'failed',
      'failure: 2 servers: 1 done, the others wait for servers that failed',
    ],
    [
      'a suspension',
      progressOf(1, ['pending']),
      'blocked',
      'in progress: 2 servers: 1 done, the others wait for an operator',
    ],
  ])('with %s', (_what, progress, stall, words) => {
    const { state, description } = headStatus({ progress, held: NOTHING_HELD, stall });
    expect(`${state}: ${description}`).toBe(words);
  });

  it.each([
    [progressOf(3), 'in progress: held until approved: deletes or replaces 1 server in 1 instance'],
    [progressOf(3, ['failed']), 'failure: 4 servers: 1 failed, 3 done'],
    [
      progressOf(3, ['updating']),
      'in progress: 4 servers: 3 done; held until approved: deletes or replaces 1 server in 1 instance',
    ],
  ])('with a hold is not a success', (progress, words) => {
    const held = { servers: 1, instances: 1 };
    const { state, description } = headStatus({ progress, held, stall: undefined });
    expect(`${state}: ${description}`).toBe(words);
  });
});
