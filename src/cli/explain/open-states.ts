// Opens what can be explained without a controller: the working directory, and commits of the Git repository around it.
import { derive } from '../../derive.ts';
import { type DesiredState, EMPTY_BASELINE } from '../../desired/desired-state.ts';
import { deriveAt } from '../../follow/restore.ts';
import type { FileChange } from '../../model/explanation.ts';
import { shortOid } from '../../model/short-oid.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { changeOf, unknownChange } from '../../service/file-history.ts';
import { type LocalRepository, openLocalRepository } from '../../source/local-repository.ts';
import { SourceError } from '../../source/source.ts';
import { readStacksDirectory } from '../user-directory.ts';
import { desiredOf, type ExplainedState, noHistory } from './explain-directory.ts';

const LIMITS = { commitsMax: 20_000, timeoutMs: 10_000 };
const NOT_COMMITTED = unknownChange('not committed');
const SHALLOW = unknownChange('older than this shallow clone: git fetch --unshallow');

/** Opens states of one directory. Call `close` in the end. */
export interface States {
  /** Returns the directory as it is now. `earlier` only saves work. */
  directory(earlier?: DesiredState): Promise<ExplainedState>;
  /** Returns a commit. Throws SourceError with advice where git knows no such revision. */
  revision(revision: string, earlier?: DesiredState): Promise<ExplainedState>;
  close(): void;
}

/** Returns the states of a directory, given as an absolute path. Without a Git repository around it there is only the directory. */
export async function openStates(directory: string): Promise<States> {
  const opened = await openRepository(directory);
  return {
    async directory(earlier) {
      const title = 'the directory';
      const snapshot = await readStacksDirectory(directory);
      const derivation = derive(snapshot, { baseline: EMPTY_BASELINE, earlier });
      return { desired: desiredOf(derivation, title), title, history: historyOfDirectory(opened, snapshot) };
    },
    async revision(revision, earlier) {
      if (opened instanceof SourceError) throw opened;
      const commit = await opened.resolve(revision);
      const short = shortOid(commit);
      const title = commit.startsWith(revision) ? short : `${revision} (${short})`;
      const derivation = await deriveAt(opened, commit, { baseline: EMPTY_BASELINE, earlier });
      return { desired: desiredOf(derivation, title), title, history: (files) => changesAt(opened, commit, files) };
    },
    close() {
      if (!(opened instanceof SourceError)) opened.close();
    },
  };
}

/** Returns the repository, or why it cannot be opened: a directory is explained without one. */
async function openRepository(directory: string): Promise<LocalRepository | SourceError> {
  try {
    return await openLocalRepository(directory);
  } catch (error) {
    if (error instanceof SourceError) return error;
    throw error;
  }
}

/** A file that differs from the one in HEAD is not committed. Without a repository, nothing is said of commits. */
function historyOfDirectory(
  repository: LocalRepository | SourceError,
  { files: present }: Snapshot,
): ExplainedState['history'] {
  if (repository instanceof SourceError) return noHistory;
  return async (files) => {
    const head = await headOf(repository);
    if (head === undefined) return Object.fromEntries(files.map((file) => [file, NOT_COMMITTED]));
    const { files: committed } = await repository.snapshot(head, () => false);
    const isCommitted = (file: string): boolean => committed.get(file)?.oid === present.get(file)?.oid;
    const changes = await changesAt(repository, head, files.filter(isCommitted));
    return Object.fromEntries(files.map((file) => [file, changes[file] ?? NOT_COMMITTED]));
  };
}

/** Returns the commit that is checked out; undefined before the first one. */
async function headOf(repository: LocalRepository): Promise<string | undefined> {
  try {
    return await repository.resolve('HEAD');
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}

async function changesAt(
  repository: LocalRepository,
  commit: string,
  files: readonly string[],
): Promise<Readonly<Record<string, FileChange>>> {
  const found = await repository.lastChanges(commit, files, LIMITS);
  return Object.fromEntries(
    files.map((file) => {
      const change = found.get(file);
      return [file, change === null && repository.isShallow ? SHALLOW : changeOf(change, LIMITS)];
    }),
  );
}
