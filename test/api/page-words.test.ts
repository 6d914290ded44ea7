// The words of the page: which part of an advice is a command to paste, and how times and values are told.
import { expect, it } from 'vitest';
import { actionParts, counted, distance, duration, shownValue, signOf } from '../../src/api/page/browser/words.js';
import { INSTANCE_STATUSES, STATES } from '../../src/model/state.ts';

it.each([
  ['treeline approve beef', ['treeline approve beef']],
  ['correct that, then push, or: treeline retry --resource web-1', ['treeline retry --resource web-1']],
  [
    'treeline retry --resource web-1; or, to forget it and leave it as it is: treeline retain web-1',
    ['treeline retry --resource web-1', 'treeline retain web-1'],
  ],
  ['treeline problems; correct that, then push', ['treeline problems']],
  ['treeline retry --resource web-1, or push a commit that changes it', ['treeline retry --resource web-1']],
  ['treeline retry --resource $(reboot) --all', ['treeline retry --resource']],
  ['treeline retry a`reboot`; then push', ['treeline retry']],
  ['treeline retry "$(reboot)" a|b', ['treeline retry']],
  ['correct treeline.yaml, and start the controller again', []],
  ['correct stacks/instances/shop.yaml, and push', []],
])('of %j these are commands: %j', (action, commands) => {
  const parts = actionParts(action);
  expect(parts.filter(({ kind }) => kind === 'command').map(({ text }) => text)).toEqual(commands);
  expect(parts.map(({ text }) => text).join('')).toBe(action);
});

it('every state and status has a sign of its own kind', () => {
  const unknown = signOf('of a later version');
  const others = [...STATES, ...INSTANCE_STATUSES].filter((state) => state !== 'Invalid');
  expect(others.filter((state) => signOf(state).join() === unknown.join())).toEqual([]);
  expect(signOf('Failed')).toEqual(['bad', '✕']);
});

it.each([
  [0, '0 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [7_199_000, '1 h'],
  [172_800_000, '2 d'],
  [-5, '0 s'],
])('%d ms are %s', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

it('tells times, numbers and values', () => {
  const now = Date.parse('2026-11-20T10:00:00Z');
  expect(distance('2026-11-20T09:58:00Z', now)).toBe('2 min ago');
  expect(distance('2026-11-20T10:00:30Z', now)).toBe('in 30 s');
  expect([counted(1, 'server'), counted(10_015, 'server')]).toEqual(['1 server', '10,015 servers']);
  expect([null, 'a', 5, false, ['a', 1], { a: 1 }].map(shownValue)).toEqual([
    '–',
    'a',
    '5',
    'false',
    'a, 1',
    '{"a":1}',
  ]);
});
