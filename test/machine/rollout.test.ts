import { expect, it } from 'vitest';
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

it('a member that goes first needs no slot, but waits for a failed member', () => {
  expect(slotOf(unordered(asking('1', 60)), [updating, doneLongAgo])).toBe(true);
  expect(slotOf(unordered(asking('1')), [member(rowIn('failed', { applied: SMALL }))])).toBe(false);
});

it.each([
  ['1', 10, 1],
  ['3', 10, 3],
  ['25%', 10, 2],
  ['25%', 3, 1],
  ['100%', 4, 4],
  ['0', 4, 1],
  ['0%', 4, 1],
])('max_unavailable %s of %d members allows %d', (written, size, count) => {
  expect(awayMax(written, size)).toBe(count);
});
