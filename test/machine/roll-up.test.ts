import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type InstanceFacts, rollUp } from '../../src/machine/roll-up.ts';
import { INSTANCE_STATUSES, type InstanceStatus, STATES, type State } from '../../src/model/state.ts';

const NOTHING: InstanceFacts = { isTerminating: false, isSuspended: false, isInvalid: false, awaitsApproval: false };
const ALL: InstanceFacts = { isTerminating: true, isSuspended: true, isInvalid: true, awaitsApproval: true };

/** The status of an instance all of whose servers are in one state. */
const OF_STATE: Readonly<Record<State, InstanceStatus>> = {
  pending: 'In progress',
  blocked: 'Blocked',
  creating: 'In progress',
  updating: 'In progress',
  deleting: 'In progress',
  retrying: 'In progress',
  unknown: 'In progress',
  done: 'Done',
  drifted: 'Drifted',
  failed: 'Failed',
  'marked for delete': 'In progress',
};

describe('the status of an instance by the states of its servers', () => {
  test.each(Object.entries(OF_STATE))('all %s: %s', (state, status) => {
    expect(rollUp(NOTHING, [state as State, state as State])).toBe(status);
  });

  test.each<[readonly State[], InstanceStatus]>([
    [['done', 'drifted'], 'Drifted'],
    [['drifted', 'blocked', 'done'], 'Blocked'],
    [['blocked', 'failed', 'drifted'], 'Failed'],
    [['failed', 'blocked', 'pending'], 'In progress'],
    [['failed', 'marked for delete'], 'In progress'],
    [['done', 'done', 'unknown'], 'In progress'],
  ])('%j: %s', (states, status) => {
    expect(rollUp(NOTHING, states)).toBe(status);
  });
});

describe('the status of an instance by facts besides its servers', () => {
  test.each<[Partial<InstanceFacts>, InstanceStatus]>([
    [{}, 'Marked for delete'],
    [{ isTerminating: false }, 'Suspended'],
    [{ isTerminating: false, isSuspended: false }, 'Invalid'],
    [{ isTerminating: false, isSuspended: false, isInvalid: false }, 'Awaiting approval'],
  ])('all facts but %j: %s', (facts, status) => {
    expect(rollUp({ ...ALL, ...facts }, ['pending', 'failed'])).toBe(status);
    expect(rollUp({ ...ALL, ...facts }, [])).toBe(status);
  });
});

test('the status of an instance never improves with more servers, and ignores their order', () => {
  const states = fc.array(fc.constantFrom(...STATES), { maxLength: 6 });
  fc.assert(
    fc.property(states, states, (some, more) => {
      const status = rollUp(NOTHING, [...some, ...more]);
      expect(INSTANCE_STATUSES.indexOf(status)).toBeLessThanOrEqual(INSTANCE_STATUSES.indexOf(rollUp(NOTHING, some)));
      expect(rollUp(NOTHING, [...more, ...some])).toBe(status);
    }),
  );
});
