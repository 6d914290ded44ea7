import { expect, test } from 'vitest';
import { advance } from '../../src/machine/transitions.ts';
import { serverRow } from '../support/rows.ts';

const THEN = '2026-11-20T10:13:56.000Z';
const NOW = '2026-11-20T10:20:00.000Z';

test('a new state is there since now', () => {
  const row = serverRow({ state: 'pending', since: THEN });
  expect(advance(row, 'start create', { now: NOW })).toEqual({ ...row, state: 'creating', since: NOW, reason: null });
});

test('a state that stays is there since it began', () => {
  const row = serverRow({ state: 'pending', since: THEN });
  const reason = { code: 'outcome_lost', text: 'it is checked first' } as const;
  expect(advance(row, 'want', { now: NOW, reason })).toEqual({ ...row, reason });
});

test('facts go with the event, and an old reason does not', () => {
  const row = serverRow({
    state: 'creating',
    since: THEN,
    reason: { code: 'action_failed', text: 'no room' },
    attempt: 3,
  });
  const after = advance(row, 'succeed', { now: NOW, attempt: 0, applied: row.wanted, due: null });
  expect(after).toEqual({ ...row, state: 'done', since: NOW, reason: null, attempt: 0, applied: row.wanted });
});

test('the row that went in is as it was', () => {
  const row = serverRow({ state: 'done' });
  const before = structuredClone(row);
  advance(row, 'unwant', { now: NOW, wanted: null, generation: 2 });
  expect(row).toEqual(before);
});

test('an event that the state refuses is a bug of the caller', () => {
  expect(() => advance(serverRow({ state: 'done' }), 'succeed', { now: NOW })).toThrow(
    'no transition from "done" on "succeed"',
  );
});
