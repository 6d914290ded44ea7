import { describe, expect, test } from 'vitest';
import { accepts, EVENTS, type Event, FIRST_STATE, transition } from '../../src/machine/transitions.ts';
import { STATES, type State } from '../../src/model/state.ts';

/** The states out of which an event leads to each state. */
type Targets = Partial<Record<State, readonly State[]>>;

/** An action is running, or may be: what is wanted may change, but nothing else happens before that has ended. */
const RUNNING: readonly State[] = ['creating', 'updating', 'deleting', 'unknown'];
const WAITING: readonly State[] = ['pending', 'blocked', 'retrying', 'done', 'drifted', 'failed', 'marked for delete'];
const STAY_RUNNING: Targets = {
  creating: ['creating'],
  updating: ['updating'],
  deleting: ['deleting'],
  unknown: ['unknown'],
};
/** Where a call, or the check before it, can fail. */
const TRYING: readonly State[] = ['pending', 'blocked', 'creating', 'updating', 'deleting', 'marked for delete'];

/** For each event: where it leads, and out of which states. What is not listed is refused. */
const EXPECTED: Readonly<Record<Event, Targets>> = {
  want: { pending: WAITING, ...STAY_RUNNING },
  unwant: { 'marked for delete': WAITING, ...STAY_RUNNING },
  hold: { blocked: ['pending', 'blocked', 'retrying', 'failed', 'marked for delete'] },
  'start create': { creating: ['pending'] },
  'start update': { updating: ['pending'] },
  // Out of `pending` too: a replacement deletes first.
  'start delete': { deleting: ['pending', 'marked for delete'] },
  succeed: { done: ['creating', 'updating'], pending: ['deleting'] },
  fail: { retrying: TRYING, unknown: ['unknown'] },
  'give up': { failed: TRYING, unknown: ['unknown'] },
  lose: { unknown: ['creating', 'updating', 'deleting'] },
  learn: { pending: ['updating', 'unknown'] },
  settle: { done: ['pending', 'blocked', 'retrying', 'done', 'drifted', 'failed'] },
  drift: { drifted: ['pending', 'blocked', 'done', 'drifted'] },
};

const CELLS = STATES.flatMap((state) => EVENTS.map((event) => ({ state, event, to: expectedAfter(state, event) })));

function expectedAfter(state: State, event: Event): State | undefined {
  const targets = STATES.filter((to) => EXPECTED[event][to]?.includes(state));
  expect(targets.length, `${state} on ${event} stands at most once in the expectation`).toBeLessThan(2);
  return targets[0];
}

describe('the table of transitions', () => {
  test.each(CELLS.filter(({ to }) => to !== undefined))('$state, on $event: $to', ({ state, event, to }) => {
    expect(accepts(state, event)).toBe(true);
    expect(transition(state, event)).toBe(to);
  });

  test.each(CELLS.filter(({ to }) => to === undefined))('$state refuses $event', ({ state, event }) => {
    expect(accepts(state, event)).toBe(false);
    expect(() => transition(state, event)).toThrow(`no transition from "${state}" on "${event}"`);
  });

  test.each(EVENTS)('%s is accepted by a state', (event) => {
    expect(STATES.some((state) => accepts(state, event))).toBe(true);
  });
});

describe('every state', () => {
  test.each(STATES)('%s accepts a new commit', (state) => {
    expect(accepts(state, 'want')).toBe(true);
    expect(accepts(state, 'unwant')).toBe(true);
  });

  test.each(RUNNING)('%s ends before a commit is applied', (state) => {
    expect(transition(state, 'want')).toBe(state);
    expect(transition(state, 'unwant')).toBe(state);
    for (const event of ['start create', 'start update', 'start delete', 'hold', 'settle'] as const) {
      expect(accepts(state, event), event).toBe(false);
    }
  });

  test.each(WAITING)('%s ends with a new commit', (state) => {
    expect(transition(state, 'want')).toBe('pending');
    expect(transition(state, 'unwant')).toBe('marked for delete');
  });

  test.each(['creating', 'updating', 'deleting'] as const)('%s can end in every way', (state) => {
    for (const event of ['succeed', 'fail', 'give up', 'lose'] as const)
      expect(accepts(state, event), event).toBe(true);
  });

  test('a lost action is only followed by a check', () => {
    const ways = EVENTS.filter((event) => accepts('unknown', event) && transition('unknown', event) !== 'unknown');
    expect(ways).toEqual(['learn']);
  });

  test.each(STATES)('%s can be reached by a new server', (state) => {
    expect(reachable(FIRST_STATE, EVENTS)).toContain(state);
  });

  // Once no commit wants it: only what happens to a server by itself, and the way out.
  const WITHOUT_WANTING: readonly Event[] = ['unwant', 'start delete', 'succeed', 'fail', 'give up', 'lose', 'learn'];

  test.each(STATES)('%s leads to removal when the server is unwanted', (state) => {
    expect(reachable(state, WITHOUT_WANTING)).toContain('marked for delete');
    expect(transition('marked for delete', 'start delete')).toBe('deleting');
  });

  test.each(STATES)('%s leads to done when the server is wanted', (state) => {
    expect(
      reachable(
        state,
        EVENTS.filter((event) => event !== 'unwant'),
      ),
    ).toContain('done');
  });
});

function reachable(start: State, events: readonly Event[]): ReadonlySet<State> {
  const found = new Set<State>([start]);
  // A set that is walked while it grows: every state is visited once.
  for (const state of found) {
    for (const event of events) if (accepts(state, event)) found.add(transition(state, event));
  }
  return found;
}
