// The events that a change of rows makes: which changes are told, and with what text.
import { describe, expect, it } from 'vitest';
import { type Cause, eventsOf } from '../../src/machine/instance-events.ts';
import type { Change, RunningAction, ServerRow } from '../../src/model/rows.ts';
import { at, LARGE, NOW, rowIn, SMALL, SOON } from '../reconcile/build.ts';

const PASS: Cause = { kind: 'pass', now: NOW };
const COMMIT: Cause = {
  kind: 'commit',
  now: NOW,
  commit: 'c2',
  clientOf: (name) => (name === 'shop' ? 'A1' : null),
  mistakeOf: () => undefined,
};
const ASKED: Cause = {
  kind: 'operation',
  now: NOW,
  operation: 'retry',
  client: 'A1',
  reason: 'corrected',
  instance: null,
};
const ACTION: RunningAction = {
  id: '1.create',
  operation: 'create',
  spec: SMALL,
  provider: 'lab',
  started: at(NOW),
  deadline: at(SOON),
};

function told(before: ServerRow | undefined, value: ServerRow | null, cause = PASS) {
  const change: Change = { kind: 'server', name: 'web-1', value, expected: before };
  return eventsOf([change], cause).map(({ instance, from, to, reason, commit, client }) => [
    ...[instance, from, to, reason, commit, client],
  ]);
}

const PENDING = rowIn('pending', { instance: 'shop', commit: 'c1' });

describe('a change of a server', () => {
  it.each<[string, Partial<ServerRow>]>([
    ['the same', {}],
    ['a check', { checked: true, mayExist: false }],
    ['the time of the next attempt', { due: at(SOON) }],
    ['the end of a reason', { reason: null }],
    ['its outputs', { outputs: { address: '10.0.0.1' } }],
  ])('makes no event for %s', (_case, fields) => {
    const before = rowIn('unknown', { reason: { code: 'check_failed', text: 'cut off' } });
    expect(told(before, { ...before, ...fields })).toEqual([]);
  });

  it.each<[string, ServerRow | undefined, ServerRow | null, string]>([
    ['new', undefined, PENDING, 'a commit wants it'],
    ['changed', PENDING, { ...PENDING, generation: PENDING.generation + 1, wanted: LARGE }, 'a commit changes it'],
    ['unwanted', PENDING, { ...PENDING, state: 'marked for delete', wanted: null }, 'no commit wants it any more'],
    ['given up', PENDING, null, 'nothing of it is left'],
    ['deleted', rowIn('deleting', { applied: SMALL }), null, 'deleted'],
    [
      'begun',
      PENDING,
      { ...PENDING, state: 'creating', action: ACTION, provider: 'lab', attempt: 2 },
      'create begins: action 1.create of the provider entry "lab", try 3',
    ],
    ['settled', PENDING, { ...PENDING, state: 'done' }, 'the server matches its wanted spec'],
    [
      'blocked',
      PENDING,
      { ...PENDING, state: 'blocked', reason: { code: 'no_provider', text: 'nobody' } },
      'no_provider: nobody',
    ],
    [
      'failed',
      PENDING,
      { ...PENDING, state: 'failed', due: at(SOON), reason: { code: 'action_failed', text: 'x' } },
      `action_failed: x; next try at ${at(SOON)}`,
    ],
  ])('makes an event when it is %s', (_case, before, after, reason) => {
    expect(told(before, after).map((event) => event[3])).toEqual([reason]);
  });

  it('names the commit and its client, or the operation', () => {
    const after: ServerRow = { ...PENDING, state: 'done' };
    expect(told(PENDING, after)[0]?.slice(4)).toEqual(['c1', null]);
    expect(told(PENDING, after, COMMIT)[0]?.slice(4)).toEqual(['c2', 'A1']);
    expect(told(PENDING, after, ASKED)[0]?.slice(3)).toEqual(['retry: corrected', null, 'A1']);
    expect(told(PENDING, { ...PENDING, attempt: 0 }, ASKED)).toHaveLength(1);
  });

  it('names the proxy that carries out an action, at its start and at its end', () => {
    const claimed = { ...ACTION, claim: { lease: 'x', client: 'P1' } };
    const running: ServerRow = { ...PENDING, state: 'creating', action: claimed };
    const words = 'create begins: action 1.create carried out by a proxy';
    expect(told(PENDING, running)).toEqual([['shop', 'pending', 'creating', words, 'c1', 'P1']]);
    expect(told(running, { ...running, state: 'done', action: null })[0]?.at(-1)).toBe('P1');
  });

  it('makes an event for both instances when a server moves', () => {
    const events = told(PENDING, { ...PENDING, instance: 'mail' }, COMMIT);
    expect(events.map(([instance, , to, reason]) => [instance, to, reason])).toEqual([
      ['shop', null, 'handed over to mail'],
      ['mail', 'pending', 'handed over by shop'],
    ]);
  });

  it('has a reason of at most 1,000 characters', () => {
    const after: ServerRow = { ...PENDING, state: 'blocked', reason: { code: 'no_provider', text: 'x'.repeat(5_000) } };
    expect(String(told(PENDING, after)[0]?.[3])).toHaveLength(1_000);
  });
});
