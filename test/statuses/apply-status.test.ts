// The states and words of commit statuses, from numbers alone.
import { describe, expect, it } from 'vitest';
import type { Stall } from '../../src/machine/chain.ts';
import type { State } from '../../src/model/state.ts';
import type { Progress } from '../../src/statuses/commit-progress.ts';
import { formerStatus, headStatus } from '../../src/statuses/wanted-statuses.ts';

const NOTHING_HELD = { servers: 0, instances: 0 };
const HEAD = 'abcdef0123456789abcdef0123456789abcdef01';

function progressOf(done: number, states: readonly State[] = [], rest: Partial<Progress> = {}): Progress {
  return { done, open: new Map(states.map((state, index) => [`s${index}`, state])), deleted: 0, takenOver: 0, ...rest };
}

describe('the status of the followed commit', () => {
  it.each<[string, Progress, Stall | undefined, string]>([
    ['nothing', progressOf(0), undefined, 'success: no server to change'],
    ['all done', progressOf(3), undefined, 'success: 3 servers done'],
    ['one gone', progressOf(0, [], { deleted: 1 }), undefined, 'success: 1 server deleted'],
    ['both', progressOf(2, [], { deleted: 4 }), undefined, 'success: 2 servers done, 4 deleted'],
    ['the first', progressOf(0, ['creating']), undefined, 'in progress: 1 server: 0 done'],
    ['retries', progressOf(5, ['retrying', 'unknown']), undefined, 'in progress: 7 servers: 5 done'],
    ['deletes', progressOf(0, ['deleting', 'marked for delete']), undefined, 'in progress: 2 servers: 0 done'],
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
      'in progress: 2 servers: 1 done, the others wait for a person',
    ],
  ])('with %s', (_what, progress, stall, words) => {
    const { state, description } = headStatus({ progress, held: NOTHING_HELD, stall });
    expect(`${state}: ${description}`).toBe(words);
  });

  it.each([
    [progressOf(3), 'in progress: held until approved: deletes or replacements, 1 server in 1 instance'],
    [progressOf(3, ['failed']), 'failure: 4 servers: 1 failed, 3 done'],
    [
      progressOf(3, ['updating']),
      'in progress: 4 servers: 3 done; held until approved: deletes or replacements, 1 server in 1 instance',
    ],
  ])('with something held is not a success', (progress, words) => {
    const held = { servers: 1, instances: 1 };
    const { state, description } = headStatus({ progress, held, stall: undefined });
    expect(`${state}: ${description}`).toBe(words);
  });

  it('has at most 140 characters', () => {
    const many = progressOf(
      50_000,
      Array.from({ length: 50_000 }, () => 'pending' as const),
    );
    const held = { servers: 100_000, instances: 10_000 };
    expect(headStatus({ progress: many, held, stall: 'blocked' }).description.length).toBeLessThanOrEqual(140);
  });
});

describe('the status of a former commit', () => {
  it.each<[string, Progress, boolean, string]>([
    ['whose servers were all changed again', progressOf(0, [], { takenOver: 2 }), false, 'superseded'],
    [
      'of whose servers some were deleted, and some changed again',
      progressOf(0, [], { deleted: 1, takenOver: 1 }),
      false,
      'superseded',
    ],
    ['of which nothing is known', progressOf(0), false, 'superseded'],
    ['that deleted', progressOf(0, [], { deleted: 1 }), false, 'success'],
    ['that is done', progressOf(1, [], { takenOver: 1 }), false, 'success'],
    ['that goes on', progressOf(1, ['pending']), false, 'in progress'],
    ['that goes on for too long', progressOf(1, ['pending']), true, 'superseded'],
    ['that failed', progressOf(1, ['failed']), true, 'failure'],
  ])('%s', (_what, progress, isOver, state) => {
    const status = formerStatus({ progress, head: HEAD, isOver, stall: undefined });
    expect(status.state).toBe(state);
    if (state === 'superseded') expect(status.description).toBe('superseded by abcdef012345');
  });
});
