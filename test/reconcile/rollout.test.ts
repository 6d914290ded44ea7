import { describe, expect, it } from 'vitest';
import type { ServerRow } from '../../src/model/recorded.ts';
import { awayMax, hasTurn, type Member } from '../../src/reconcile/rollout.ts';
import { at, LARGE, NOW, rowIn, running, SMALL } from './build.ts';

/** A member that waits to be updated, in a group that lets that many be away. */
function asking(maxUnavailable: string, pauseSeconds = 0): ServerRow {
  const row = rowIn('pending', { applied: SMALL, wanted: LARGE });
  return { ...row, policy: { ...row.policy, maxUnavailable, pauseSeconds } };
}

function member(row: ServerRow, isLive = false): Member {
  return { row, isLive };
}

const doneLongAgo = member(rowIn('done', { applied: SMALL, since: at(NOW - 86_400_000) }));
const updating = member(
  rowIn('updating', { applied: SMALL, wanted: LARGE, action: running('update', LARGE), touched: true }),
);

describe('a member has its turn beside', () => {
  it.each<[name: string, other: Member, hasTurn: boolean]>([
    ['one that is done', doneLongAgo, true],
    ['one that waits too', member(asking('1')), true],
    ['one that drifted', member(rowIn('drifted', { applied: SMALL })), true],
    ['one that is updated', updating, false],
    ['one whose call is about to be made', member(asking('1'), true), false],
    ['one whose update failed and comes again', member({ ...updating.row, state: 'retrying', action: null }), false],
    ['one whose outcome is unknown', member({ ...updating.row, state: 'unknown' }), false],
    ['one whose update failed before a newer commit', member({ ...asking('1'), touched: true }), false],
    ['one that is deleted for a replacement', member({ ...updating.row, state: 'deleting', replacing: true }), false],
    ['one that is built anew', member(rowIn('creating', { replacing: true })), false],
    ['one that waits to be built anew', member(rowIn('pending', { replacing: true })), false],
    ['a newcomer', member(rowIn('creating')), true],
    ['a newcomer that gave up', member(rowIn('failed')), true],
    ['one that is to go', member(rowIn('deleting', { applied: SMALL, wanted: null, touched: true })), true],
  ])('%s', (_name, other, expected) => {
    expect(hasTurn(asking('1'), [doneLongAgo, other], NOW)).toBe(expected);
  });

  it('as many as the group lets away', () => {
    expect(hasTurn(asking('3'), [updating, updating, doneLongAgo], NOW)).toBe(true);
    expect(hasTurn(asking('3'), [updating, updating, updating], NOW)).toBe(false);
    expect(hasTurn(asking('50%'), [updating, doneLongAgo, doneLongAgo], NOW)).toBe(true);
    expect(hasTurn(asking('50%'), [updating, doneLongAgo], NOW)).toBe(false);
  });

  it('nobody, where one of those that are there gave up', () => {
    const failed = member(rowIn('failed', { applied: SMALL, wanted: LARGE }));
    expect(hasTurn(asking('100%'), [doneLongAgo, failed, doneLongAgo], NOW)).toBe(false);
    expect(hasTurn(asking('100%'), [member(rowIn('failed', { replacing: true }))], NOW)).toBe(false);
  });

  it('any number, where it is away already: two that wait for each other never came back', () => {
    const touched = { ...asking('1', 60), touched: true };
    expect(hasTurn(touched, [updating, member({ ...asking('1'), touched: true })], NOW)).toBe(true);
    expect(hasTurn(touched, [member(rowIn('failed', { applied: SMALL }))], NOW)).toBe(false);
  });
});

describe('a pause', () => {
  const back = (msAgo: number): Member => member(rowIn('done', { applied: LARGE, since: at(NOW - msAgo) }));

  it('begins when the last one is back', () => {
    expect(hasTurn(asking('1', 30), [back(90_000), back(10_000), back(20_000)], NOW)).toBe(NOW + 20_000);
  });

  it('ends after its time', () => {
    expect(hasTurn(asking('1', 30), [back(30_000)], NOW)).toBe(true);
    expect(hasTurn(asking('1', 30), [back(29_999)], NOW)).toBe(NOW + 1);
  });

  it('is none for the first', () => {
    expect(hasTurn(asking('1', 30), [], NOW)).toBe(true);
  });
});

it.each([
  ['1', 10, 1],
  ['3', 10, 3],
  ['25%', 10, 2],
  ['25%', 3, 1],
  ['100%', 4, 4],
  ['0', 4, 1],
  ['0%', 4, 1],
])('%s of %d may be away: %d', (written, size, count) => {
  expect(awayMax(written, size)).toBe(count);
});
