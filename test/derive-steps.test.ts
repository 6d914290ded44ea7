// Counts the work of one step of a derivation. It must not grow with the number of instances: what a step does cannot be
// interrupted.
import { expect, it } from 'vitest';
import type { FileEntry } from '../src/catalog/catalog.ts';
import { loadCatalog } from '../src/catalog/load-catalog.ts';
import { type Derivation, deriveSteps } from '../src/derive.ts';
import { EMPTY_BASELINE } from '../src/desired/desired-state.ts';
import type { Snapshot } from '../src/model/snapshot.ts';
import { snapshotOf } from './catalog/snapshots.ts';
import { repositoryFiles } from './support/sized-repository.ts';

interface Counted {
  readonly steps: number;
  /** The most looks at the content of instance files in one step. */
  readonly most: number;
  readonly derivation: Derivation;
}

function snapshotWith(instances: number): Snapshot {
  const files = Object.entries(repositoryFiles({ instances, servers: 3 }));
  return snapshotOf(Object.fromEntries(files.map(([path, text]) => [path, String(text)])));
}

function countSteps(snapshot: Snapshot): Counted {
  let looks = 0;
  const counted = (entry: FileEntry): FileEntry => {
    const { object } = entry;
    const look = (): typeof object => {
      looks += 1;
      return object;
    };
    return Object.defineProperty({ ...entry }, 'object', { get: look, enumerable: true });
  };
  const entries = [...loadCatalog(snapshot).files.values()].map((entry) =>
    entry.type === 'stack-instance' ? counted(entry) : entry,
  );
  const parsedFiles = new Map(entries.map((entry) => [entry.path, entry]));
  const work = deriveSteps(snapshot, { baseline: EMPTY_BASELINE, parsedFiles });
  let most = 0;
  for (let steps = 0; ; steps += 1) {
    looks = 0;
    const step = work.next();
    most = Math.max(most, looks);
    if (step.done === true) return { steps, most, derivation: step.value };
  }
}

it('does not do more in one step where there are more instances', () => {
  const [small, large] = [countSteps(snapshotWith(20)), countSteps(snapshotWith(200))];
  expect(large.derivation.isFollowed).toBe(true);
  expect(large.most).toBe(small.most);
  expect(large.steps - small.steps).toBeGreaterThan(180);
});
