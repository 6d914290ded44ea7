import { describe, expect, it } from 'vitest';
import { awayMax, hasSlot } from '../../src/machine/rollout.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { RowIndex } from '../../src/reconcile/row-index.ts';
import { at, LARGE, NOW, rowIn, running, SMALL } from '../reconcile/build.ts';

/** A member that waits to be updated, in a group that lets that many be away. */
function asking(maxUnavailable: string, pauseSeconds = 0): ServerRow {
  const row = rowIn('pending', { applied: SMALL, wanted: LARGE });
  return { ...row, policy: { ...row.policy, maxUnavailable, pauseSeconds } };
}

interface Member {
  readonly row: ServerRow;
  readonly isInFlight: boolean;
}

/** Whether `row` has its turn beside the other members of its group. */
function slotOf(row: ServerRow, others: readonly Member[]): boolean | number {
  const index = new RowIndex();
  index.follow('web-0', undefined, row);
  for (const [place, { row: other, isInFlight }] of others.entries()) {
    index.follow(`web-${place + 1}`, undefined, other);
    index.setInFlight(`web-${place + 1}`, isInFlight);
  }
  return hasSlot(row, index.groupViewOf('web-0', row), NOW);
}

function unordered(row: ServerRow): ServerRow {
  return { ...row, ignoresOrder: row.generation };
}

function member(row: ServerRow, isInFlight = false): Member {
  return { row, isInFlight };
}

const doneLongAgo = member(rowIn('done', { applied: SMALL, since: at(NOW - 86_400_000) }));
const updating = member(
  rowIn('updating', { applied: SMALL, wanted: LARGE, action: running('update', LARGE), dirty: true }),
);

describe('a member has its turn beside', () => {
  it.each<[name: string, other: Member, hasSlot: boolean]>([
    ['one that is done', doneLongAgo, true],
    ['one that waits too', member(asking('1')), true],
    ['one that drifted', member(rowIn('drifted', { applied: SMALL })), true],
    ['one that is updated', updating, false],
    ['one whose call is about to be made', member(asking('1'), true), false],
    ['one whose update failed and comes again', member({ ...updating.row, state: 'retrying', action: null }), false],
    ['one whose outcome is unknown', member({ ...updating.row, state: 'unknown' }), false],
    ['one whose update failed before a newer commit', member({ ...asking('1'), dirty: true }), false],
    ['one that is deleted for a replacement', member({ ...updating.row, state: 'deleting', replacing: true }), false],
    ['one that is built anew', member(rowIn('creating', { replacing: true })), false],
    ['one that waits to be built anew', member(rowIn('pending', { replacing: true })), false],
    ['a newcomer', member(rowIn('creating')), true],
    ['a newcomer that gave up', member(rowIn('failed')), true],
    ['one that is to go', member(rowIn('deleting', { applied: SMALL, wanted: null, dirty: true })), true],
  ])('%s', (_name, other, expected) => {
    expect(slotOf(asking('1'), [doneLongAgo, other])).toBe(expected);
  });

  it('as many as the group lets away', () => {
    expect(slotOf(asking('3'), [updating, updating, doneLongAgo])).toBe(true);
    expect(slotOf(asking('3'), [updating, updating, updating])).toBe(false);
    expect(slotOf(asking('50%'), [updating, doneLongAgo, doneLongAgo])).toBe(true);
    expect(slotOf(asking('50%'), [updating, doneLongAgo])).toBe(false);
  });

  it('nobody, where one of those that are there gave up', () => {
    const failed = member(rowIn('failed', { applied: SMALL, wanted: LARGE }));
    expect(slotOf(asking('100%'), [doneLongAgo, failed, doneLongAgo])).toBe(false);
    expect(slotOf(asking('100%'), [member(rowIn('failed', { replacing: true }))])).toBe(false);
  });

  it('any number, where it is away already: two that wait for each other never came back', () => {
    const dirty = { ...asking('1', 60), dirty: true };
    expect(slotOf(dirty, [updating, member({ ...asking('1'), dirty: true })])).toBe(true);
    expect(slotOf(dirty, [member(rowIn('failed', { applied: SMALL }))])).toBe(false);
  });
});

it('a member that goes first needs no slot, but nobody goes beside one that gave up', () => {
  expect(slotOf(unordered(asking('1', 60)), [updating, doneLongAgo])).toBe(true);
  expect(slotOf(unordered(asking('1')), [member(rowIn('failed', { applied: SMALL }))])).toBe(false);
});

describe('a pause', () => {
  const back = (msAgo: number): Member => member(rowIn('done', { applied: LARGE, since: at(NOW - msAgo) }));

  it('begins when the last one is back', () => {
    expect(slotOf(asking('1', 30), [back(90_000), back(10_000), back(20_000)])).toBe(NOW + 20_000);
  });

  it('ends after its time', () => {
    expect(slotOf(asking('1', 30), [back(30_000)])).toBe(true);
    expect(slotOf(asking('1', 30), [back(29_999)])).toBe(NOW + 1);
  });

  it('is none for the first', () => {
    expect(slotOf(asking('1', 30), [])).toBe(true);
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
