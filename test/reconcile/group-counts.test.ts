// The counts of a group against a walk over all its members, as the rules of a roll-out were first written.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { awayMax, groupOf, hasSlot } from '../../src/machine/rollout.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { RowIndex } from '../../src/reconcile/row-index.ts';
import { countRuns } from '../support/count-runs.ts';
import { at, NOW, rowIn, SMALL } from './build.ts';

interface Member {
  readonly row: ServerRow;
  readonly isInFlight: boolean;
}

/** The same question, answered by looking at every member. */
function walkedTurn(row: ServerRow, others: Iterable<Member>): boolean | number {
  let [size, away, lastBack] = [1, 0, 0];
  for (const { row: other, isInFlight } of others) {
    size += 1;
    if (other.wanted === null || (other.applied === null && !other.replacing)) continue;
    if (other.state === 'failed') return false;
    if (isInFlight || other.dirty || other.applied === null) away += 1;
    else if (other.state === 'done') lastBack = Math.max(lastBack, Date.parse(other.since));
  }
  if (row.dirty) return true;
  if (away >= awayMax(row.policy.maxUnavailable, size)) return false;
  const from = lastBack + row.policy.pauseSeconds * 1000;
  return from <= NOW || from;
}

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
const row: fc.Arbitrary<ServerRow> = fc
  .record({
    state: fc.constantFrom('pending', 'done', 'failed', 'updating', 'retrying', 'drifted' as const),
    key: fc.constantFrom('web', 'web', 'api'),
    wanted: fc.constantFrom(SMALL, SMALL, SMALL, null),
    applied: fc.constantFrom(SMALL, SMALL, null),
    dirty: fc.constantFrom(false, false, true),
    replacing: fc.constantFrom(false, false, true),
    since: fc.nat(60).map((seconds) => at(NOW - seconds * 1000)),
    maxUnavailable: fc.constantFrom('1', '2', '50%'),
    pauseSeconds: fc.constantFrom(0, 30),
  })
  .map(({ maxUnavailable, pauseSeconds, state, ...fields }) => {
    const made = rowIn(state as ServerRow['state'], fields);
    return { ...made, policy: { ...made.policy, maxUnavailable, pauseSeconds } };
  });
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ name: fc.constantFrom(...NAMES), row: fc.option(row, { nil: undefined, freq: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ name: fc.constantFrom(...NAMES), isInFlight: fc.boolean() }) },
);

it('a member has its turn exactly where a walk over its group says so', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const index = new RowIndex();
      const rows = new Map<string, ServerRow>();
      const inFlight = new Set<string>();
      for (const change of steps) {
        if ('isInFlight' in change) {
          index.setInFlight(change.name, change.isInFlight);
          if (change.isInFlight) inFlight.add(change.name);
          else inFlight.delete(change.name);
        } else {
          index.follow(change.name, rows.get(change.name), change.row);
          if (change.row === undefined) rows.delete(change.name);
          else rows.set(change.name, change.row);
        }
        for (const [name, asking] of rows) {
          const others = [...rows].filter(([other, it]) => other !== name && groupOf(it) === groupOf(asking));
          const members = others.map(([other, its]) => ({ row: its, isInFlight: inFlight.has(other) }));
          const baseline = index.groupViewOf(name, asking);
          expect(hasSlot(asking, baseline, NOW)).toBe(walkedTurn(asking, members));
        }
      }
    }),
    { numRuns: countRuns(300) },
  );
});
