// Tests that an instance which exceeds the number of servers of a controller is refused without stopping others.
import { describe, expect, it } from 'vitest';
import { admitAsRecorded, admitInstances } from '../../src/desired/admit.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { ALL_SERVERS_MAX, capacityRefusals } from '../../src/desired/store-capacity.ts';
import { deletionFacts } from './facts.ts';
import { instanceFile, one, stacksRepository, two } from './stacks.ts';

type Instances = Readonly<Record<string, string | null>>;

/** Returns the desired state after each of the commits. */
function follow(...commits: readonly Instances[]): readonly DesiredState[] {
  const repository = stacksRepository();
  return commits.map((instances) =>
    repository.commit(Object.fromEntries(Object.entries(instances).map(([name, text]) => [instanceFile(name), text]))),
  );
}

function unwantedServers(count: number): ReadonlySet<string> {
  return new Set(Array.from({ length: count }, (_, index) => `unwanted-${index}`));
}

describe('capacityRefusals', () => {
  it.each<[what: string, before: Instances, after: Instances, unwanted: number, limit: number, refused: string[]]>([
    ['refuse nothing at the limit', { a: one('x') }, { b: two('y', 'z') }, 1, 4, []],
    [
      'refuse the instance that grows most beyond the limit',
      { a: one('x') },
      { b: two('y', 'z'), c: one('w') },
      0,
      3,
      ['b'],
    ],
    ['refuse as many instances as necessary', { a: one('x') }, { b: two('y', 'z'), c: one('w') }, 0, 1, ['b', 'c']],
    ['count servers that are not deleted yet', { a: one('x') }, { c: one('w') }, 2, 3, ['c']],
    ['refuse no instance that does not grow', { a: two('x', 'y') }, { a: one('x') }, 0, 0, []],
  ])('refuses %s', (_what, before, after, unwanted, limit, refused) => {
    const [baseline, next] = follow(before, after) as [DesiredState, DesiredState];
    const refusals = capacityRefusals(next.units, { baseline, unwanted }, limit);
    expect(refusals.map(({ problem }) => problem.instances)).toEqual(refused.map((name) => [name]));
  });
});

describe('admission without capacity', () => {
  const [baseline, next] = follow({ a: one('x') }, { a: null, b: one('y'), c: one('z', 'y') }) as [
    DesiredState,
    DesiredState,
  ];
  const unwanted = unwantedServers(ALL_SERVERS_MAX);

  it('refuses instances that grow until servers are gone, and still deletes', () => {
    const safety = { deletions: deletionFacts(), losses: new Map(), unwanted };
    const admitted = admitInstances({ candidates: next.candidates, receiversOf: () => [] }, baseline, safety);
    expect([...admitted.units.keys()]).toEqual([]);
    expect(admitted.awaited).toEqual(unwanted);
    expect(admitted.problems.map(({ code, message }) => [code, message])).toEqual([
      ['no_room', 'with "b" this controller would manage more than 200,000 servers'],
      ['no_room', 'with "c" this controller would manage more than 200,000 servers'],
    ]);
  });

  it('stays the same when the recorded commit is restored', () => {
    const recorded = { losses: new Map(), held: new Map(), pinned: new Set(['stack-instance/b']) };
    const admitted = admitAsRecorded({ candidates: next.candidates }, baseline, recorded);
    expect(admitted.refused).toEqual(new Set(['stack-instance/b', 'stack-instance/c']));
    expect(admitted.problems.map(({ code }) => code)).toEqual(['no_room', 'dependency_waits']);
  });
});
