import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isHolding } from '../../src/machine/holders.ts';
import { awayMax, groupOf, hasSlot } from '../../src/machine/rollout.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { RowIndex } from '../../src/reconcile/row-index.ts';
import { countRuns } from '../support/count-runs.ts';
import { at, NOW, rowIn, running, SMALL, specOf } from './build.ts';

const NEEDS_DB = specOf('small', { dependsOn: ['db'] });
const LISTS_DB = specOf('small', { lists: ['db'] });

describe('RowIndex', () => {
  it('gives the same answers as a search of all rows', () => {
    const spec = fc.record({ dependsOn: names(), lists: names() }).map((fields) => specOf('small', fields));
    const row = fc
      .record({ instance: name(), key: name(), applied: fc.option(spec), running: fc.option(spec) })
      .map(({ running: to, ...fields }) => rowIn('done', { ...fields, action: to && running('create', to) }));
    const steps = fc.array(fc.record({ name: name(), row: fc.option(row, { nil: undefined }) }), { maxLength: 30 });
    fc.assert(
      fc.property(steps, name(), (history, asked) => {
        const index = new RowIndex();
        const rows = new Map<string, ServerRow>();
        for (const step of history) {
          index.follow(step.name, rows.get(step.name), step.row);
          if (step.row === undefined) rows.delete(step.name);
          else rows.set(step.name, step.row);
        }
        const needy = [...rows].filter(([, { applied, action }]) =>
          [applied, action?.spec].some((spec) => spec?.dependsOn.includes(asked) || spec?.lists.includes(asked)),
        );
        const inInstance = [...rows].filter(([, { instance }]) => instance === asked);
        expect([...index.dependentsOf(asked)].sort()).toEqual(needy.map(([each]) => each).sort());
        expect(index.serversOf(asked)).toEqual(inInstance.map(([each]) => each).sort());
      }),
    );
  });
});

function name(): fc.Arbitrary<string> {
  return fc.constantFrom('a', 'b', 'c', '__proto__');
}

function names(): fc.Arbitrary<string[]> {
  return fc.uniqueArray(name(), { maxLength: 2 });
}

describe('a delete waits for', () => {
  it.each<[name: string, row: ServerRow | undefined, holdsUp: boolean]>([
    ['a server that depends on it', rowIn('done', { applied: NEEDS_DB }), true],
    ['a server that lists it', rowIn('done', { applied: LISTS_DB }), true],
    ['an unwanted server that depends on it', rowIn('deleting', { applied: NEEDS_DB, wanted: null }), true],
    ['an unwanted server that lists it', rowIn('deleting', { applied: LISTS_DB, wanted: null }), false],
    ['a dependent server that is being created', rowIn('creating', { action: running('create', NEEDS_DB) }), true],
    [
      'an unwanted dependent server that is being created',
      rowIn('creating', { action: running('create', NEEDS_DB), wanted: null }),
      true,
    ],
    [
      'a server whose running update depends on it',
      rowIn('updating', { applied: SMALL, action: running('update', NEEDS_DB) }),
      true,
    ],
    ['no server that does not exist yet', rowIn('pending', { wanted: NEEDS_DB }), false],
    ['no server that is not recorded', undefined, false],
  ])('%s', (_name, row, holdsUp) => {
    expect(isHolding('db', row)).toBe(holdsUp);
  });
});

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
const member: fc.Arbitrary<ServerRow> = fc
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
const memberStep = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ name: fc.constantFrom(...NAMES), row: fc.option(member, { nil: undefined, freq: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ name: fc.constantFrom(...NAMES), isInFlight: fc.boolean() }) },
);

it('a member may start exactly if a search of its group says so', () => {
  fc.assert(
    fc.property(fc.array(memberStep, { maxLength: 40 }), (steps) => {
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
