// Answers which commit changed a file last, for explanations. Searches are limited in time: any client that may
// read can ask for one, and each has its share of them (api/app.ts).
import type { FileChange } from '../../model/explanation.ts';
import type { ChangeLimits, LastFileChanges, Source } from '../../repository/source.ts';

/** What the history is asked for. */
type SearchFiles = (...search: Parameters<Source['lastChanges']>) => Promise<LastFileChanges | undefined>;

/** Returns the last change of each of these files, at a commit or before it. */
export type FileHistory = (commit: string, paths: readonly string[]) => Promise<Readonly<Record<string, FileChange>>>;

const LIMITS = { timeoutMs: 2_000 };

const NOT_READ = 'the history cannot be read now';
const NOT_THERE = 'not in this commit';

/** Returns a change of which the commit is not known, and why. */
export function unknownChange(note: string): FileChange {
  return { commit: null, time: null, note };
}

/** Returns the history. `search` returns undefined where the local copy of the repository cannot be read. */
export function createFileHistory(search: SearchFiles): FileHistory {
  return async (commit, paths) => {
    const found = paths.length === 0 ? new Map() : await search(commit, paths, LIMITS);
    const changeAt = (path: string) => (found ? changeOf(found.get(path), LIMITS) : unknownChange(NOT_READ));
    return Object.fromEntries(paths.map((path) => [path, changeAt(path)]));
  };
}

/** The outcome of a search for one file; see Source.lastChanges. */
type FoundChange = ReturnType<LastFileChanges['get']>;

/** Returns what a search within limits has found. */
export function changeOf(found: FoundChange, { timeoutMs }: ChangeLimits): FileChange {
  if (found === undefined) return unknownChange(NOT_THERE);
  if (found !== null) return { commit: found.oid, time: found.time, note: null };
  return unknownChange(`not found within ${timeoutMs / 1000} s`);
}
