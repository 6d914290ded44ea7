// What test/long/replicas.long.ts judges by finds what must not be, and nothing else.
import { describe, expect, it } from 'vitest';
import { judgeCalls, type MarkedCall } from '../support/marked-calls.ts';
import { leadersAtOnce } from '../support/replica-load.ts';
import { judgeFencing } from '../support/replica-process.ts';

describe('calls', () => {
  /** Each is a word of the log, and an operation of one server. */
  function judge(...words: readonly string[]): readonly string[] {
    const calls = words.map((word): MarkedCall => {
      const [event = '', operation = ''] = word.split(' ');
      const action = `web-1.7.${operation}`;
      return { at: 0n, replica: 'a', server: 'web-1', event: event as MarkedCall['event'], operation, action };
    });
    return judgeCalls(calls).map((fault) => fault.split('\n')[0] ?? '');
  }

  it('are sound where an action is begun again after a check', () => {
    expect(judge('begin check', 'begin create', 'begin check', 'begin create', 'end create', 'begin update')).toEqual(
      [],
    );
  });

  it.each([
    ['an action that is begun twice', ['begin create', 'end create', 'begin create'], 'begun again, unchecked'],
    ['a call beside another one', ['begin create', 'overlap create', 'begin check'], 'overlap'],
    ['a create that finds its server', ['begin create', 'found create'], 'found'],
  ])('are not sound with %s', (_case, words, fault) => {
    expect(judge(...words)).toEqual([`web-1: web-1.7.create: ${fault}`]);
  });
});

describe('fencing numbers', () => {
  const taken = (replica: string, fencing: number) => ({
    replica,
    fencing: `${fencing}`,
    former: `${fencing - 1}`,
    revised: '0',
  });
  const committed = (replica: string, fencing: number, revised = 1) => ({
    ...{ replica, fencing: `${fencing}`, former: `${fencing}`, revised: `${revised}` },
  });

  it('are of one replica each', () => {
    const states = [taken('a', 1), committed('a', 1), taken('b', 2), committed('b', 2)];
    expect(judgeFencing(states, [{ replica: 'b', fencing: '2' }])).toEqual({ faults: [], fencings: 2 });
  });

  it.each([
    ['a commit of a former leader', [taken('a', 1), taken('b', 2), committed('a', 2)], 'a committed with 2'],
    ['a number that goes down', [taken('a', 2), { ...taken('b', 1), former: '2' }], '1 after 2'],
    ['a revision that goes down', [taken('a', 1), committed('a', 1, -1)], 'the revision changed by -1'],
  ])('are not in order with %s', (_case, states, fault) => {
    expect(judgeFencing(states, []).faults).toEqual([fault]);
  });

  it('are not in order with a change of rows by a replica that did not take the number', () => {
    expect(judgeFencing([taken('a', 1)], [{ replica: 'b', fencing: '1' }]).faults).toEqual(['b changed rows with 1']);
  });
});

describe('leaders', () => {
  const [a, b] = [{ name: 'a' }, { name: 'b' }];
  const at = (replica: { readonly name: string }, sent: number) => ({ replica, sent, received: sent + 10 });

  it('may follow one another', () => {
    expect(leadersAtOnce([at(a, 0), at(a, 50), at(b, 55), at(b, 100), at(a, 2_500)])).toEqual([]);
  });

  it('are two at once where one leads between two moments of the other', () => {
    expect(leadersAtOnce([at(a, 0), at(b, 50), at(a, 100)])).toEqual(['b while a led']);
  });
});
