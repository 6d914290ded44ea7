// Tests which commits are admitted by what is active already, that admission comes to the same result, and that servers of
// instances that did not change are not looked at.
import { describe, expect, it } from 'vitest';
import { type AdmittedInstances, admitInstances, keepAdmission, type Safety } from '../../src/desired/admit.ts';
import type { DeletionFacts } from '../../src/desired/deletions.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { ROWS_BYTES_MAX } from '../../src/desired/store-capacity.ts';
import type { Unit } from '../../src/desired/unit.ts';
import type { WantedServer } from '../../src/model/spec.ts';
import type { TextChanges } from '../support/text-repository.ts';
import { deletionFacts, removalsOf } from './facts.ts';
import { instanceFile, one, stacksRepository, WRONG } from './stacks.ts';

const SHOP = instanceFile('shop');
const FILES = {
  [SHOP]: one('web'),
  [instanceFile('db')]: one('db-1'),
  [instanceFile('app')]: one('app-1', 'db-1'),
};

function safetyWith(fields: Partial<DeletionFacts> = {}, recordedBytes = 0): Safety {
  return { deletions: deletionFacts(fields), unprotected: new Set(), recordedBytes };
}

/** Returns the active state, and the candidates of a commit after it. */
function proposalOf(changes: TextChanges): { baseline: DesiredState; candidates: ReadonlyMap<string, Unit> } {
  const repository = stacksRepository();
  const baseline = repository.commit(FILES);
  return { baseline, candidates: repository.commit(changes).candidates };
}

/** As plain data, in any order of the instances. */
function plain({
  units,
  owners,
  refused,
  problems,
  limits,
  held,
  approved,
  spent,
  unused,
}: AdmittedInstances): unknown {
  const sorted = { units: [...units].sort(), owners: [...owners].sort(), refused: [...refused].sort() };
  return { ...sorted, problems, limits, held, approved, spent, unused };
}

describe('carried over', () => {
  const underWay = { underWay: new Map([['shop', removalsOf('web')]]), recent: 1, isRecent: () => true };
  it.each<[what: string, changes: TextChanges, safety?: Safety]>([
    ['nothing', {}],
    ['another content', { [SHOP]: `${one('web')}description: x\n` }],
    ['protection', { [SHOP]: `${one('web')}protected: true\n` }],
    ['another content during a replacement', { [SHOP]: `${one('web')}description: x\n` }, safetyWith(underWay)],
  ])('%s', (_what, changes, safety = safetyWith()) => {
    const { baseline, candidates } = proposalOf(changes);
    const carried = keepAdmission({ candidates, undetermined: [] }, baseline, safety);
    const admitted = admitInstances({ candidates, undetermined: [] }, baseline, safety);
    expect(carried && plain(carried)).toEqual(plain(admitted));
    expect(carried?.holdsFor(safety)).toBe(true);
    expect(carried?.holdsFor(safetyWith({ ...underWay, limit: 0 }))).toBe(
      admitted.holdsFor(safetyWith({ ...underWay, limit: 0 })),
    );
  });
});

describe('left to admission', () => {
  it.each<[what: string, changes: TextChanges, safety?: Safety]>([
    ['an instance more', { [instanceFile('more')]: one('more-1') }],
    ['an instance less', { [SHOP]: null }],
    ['an instance for another', { [SHOP]: null, [instanceFile('more')]: one('web') }],
    ['another name', { [SHOP]: one('www') }],
    ['a dependency more', { [SHOP]: one('web', 'db-1') }],
    ['a dependency less', { [instanceFile('app')]: one('app-1') }],
    ['a mistake', { [SHOP]: WRONG }],
    ['deletes that are held', {}, safetyWith({ limit: 0, underWay: new Map([['shop', removalsOf('web')]]) })],
    ['a full store', {}, safetyWith({}, 2 * ROWS_BYTES_MAX)],
  ])('%s', (_what, changes, safety = safetyWith()) => {
    const { baseline, candidates } = proposalOf(changes);
    expect(keepAdmission({ candidates, undetermined: [] }, baseline, safety)).toBeUndefined();
  });
});

it('leaves to admission what was refused, though its version is active: what it needs is gone', () => {
  const repository = stacksRepository();
  repository.commit(FILES);
  const baseline = repository.commit({ [instanceFile('db')]: null });
  expect([...baseline.invalid]).toEqual(['app']);
  expect(keepAdmission({ candidates: baseline.candidates, undetermined: [] }, baseline, safetyWith())).toBeUndefined();
});

/** Servers that count how often they are listed or looked up. */
class CountedServers extends Map<string, WantedServer> {
  looks = 0;

  override get(name: string): WantedServer | undefined {
    this.looks += 1;
    return super.get(name);
  }

  override [Symbol.iterator](): MapIterator<[string, WantedServer]> {
    this.looks += this.size;
    return super.entries();
  }

  override values(): MapIterator<WantedServer> {
    this.looks += this.size;
    return super.values();
  }

  override keys(): MapIterator<string> {
    this.looks += this.size;
    return super.keys();
  }
}

it('looks at no servers of instances that did not change', () => {
  const { baseline, candidates } = proposalOf({ [SHOP]: `${one('web')}description: x\n` });
  const counted = new Map([...baseline.units].map(([key, { servers }]) => [key, new CountedServers(servers)]));
  const known = new Map(
    [...baseline.units].map(([key, unit]) => [unit, { ...unit, servers: counted.get(key) ?? unit.servers }]),
  );
  // Only active units are known: others stay as they are.
  const withCounts = (units: ReadonlyMap<string, Unit>): ReadonlyMap<string, Unit> =>
    new Map([...units].map(([key, unit]) => [key, known.get(unit) ?? unit]));
  const [active, proposed] = [{ ...baseline, units: withCounts(baseline.units) }, withCounts(candidates)];
  // The first time, the sizes of their specs are measured.
  for (let round = 0; round < 2; round += 1) {
    for (const servers of counted.values()) servers.looks = 0;
    expect(keepAdmission({ candidates: proposed, undetermined: [] }, active, safetyWith())).toBeDefined();
  }
  const looked = [...counted].filter(([, { looks }]) => looks > 0).map(([key]) => key);
  expect(looked).toEqual(['stack-instance/shop']);
});
