// Finds the last changes of files below one directory of a repository, within limits of commits and time.
import type { Clock } from '../base/clock.ts';
import { findLastChanges } from './git/last-change.ts';
import type { ObjectReader } from './git/object-reader.ts';
import type { ChangeLimits, LastFileChanges } from './source.ts';

interface FileSearch {
  readonly commit: string;
  /** Relative to the directory. */
  readonly paths: readonly string[];
  /** The path segments from the root of the repository to the directory. */
  readonly directory: readonly string[];
  readonly clock: Clock;
  readonly limits: ChangeLimits;
}

/** Returns the commit that changed each file last; see Source.lastChanges. */
export async function findFileChanges(
  objects: Pick<ObjectReader, 'findCommit' | 'readTree'>,
  { commit, paths, directory, clock, limits: { commitsMax, timeoutMs } }: FileSearch,
): Promise<LastFileChanges> {
  const start = clock.monotonic();
  const prefix = directory.map((step) => `${step}/`).join('');
  const found = await findLastChanges(objects, {
    commit,
    commitsMax,
    paths: paths.map((path) => `${prefix}${path}`),
    isOver: () => clock.monotonic() - start > timeoutMs,
  });
  return new Map([...found].map(([path, change]) => [path.slice(prefix.length), change]));
}
