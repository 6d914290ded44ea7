import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { derive, deriveInTurns } from '../src/derive.ts';
import { EMPTY_BASELINE } from '../src/desired/desired-state.ts';
import { snapshotOf } from './catalog/snapshots.ts';
import { pausing } from './support/pausing.ts';
import { repositoryFiles } from './support/sized-repository.ts';

const INSTANCES = 20;

it('derive returns the same while other work runs between files or instances', async () => {
  const files = Object.entries(repositoryFiles({ instances: INSTANCES, servers: 3 }));
  const snapshot = snapshotOf(Object.fromEntries(files.map(([path, text]) => [path, String(text)])));
  const before = { baseline: EMPTY_BASELINE };
  let pauses = 0;
  const deriving = deriveInTurns(
    snapshot,
    before,
    pausing(() => {
      pauses += 1;
    }),
  );
  const expected = derive(snapshot, before);
  await setImmediate();
  const derivation = await deriving;
  if (!derivation.isFollowed || !expected.isFollowed) throw new Error('the commit is not followed');
  expect(pauses).toBeGreaterThanOrEqual(files.length + INSTANCES);
  expect(derivation.desired.problems).toEqual(expected.desired.problems);
  expect([...derivation.desired.owners]).toEqual([...expected.desired.owners]);
  expect([...derivation.desired.units.keys()]).toEqual([...expected.desired.units.keys()]);
  for (const [key, unit] of derivation.desired.units) {
    expect([...unit.servers]).toEqual([...(expected.desired.units.get(key)?.servers ?? [])]);
  }
});
