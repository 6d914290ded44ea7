// Reads a commit of the branch and derives it.

import { type Breathe, breatheBy } from '../base/breathe.ts';
import { systemClock } from '../base/clock.ts';
import { wantsBlob } from '../catalog/load-catalog.ts';
import {
  type Before,
  type Derivation,
  deriveInTurns,
  type ProposedCommit,
  proposeInTurns,
  type RefusedDerivation,
} from '../derive.ts';
import type { Problem } from '../model/problem.ts';
import { orContentError, type Snapshot } from '../model/snapshot.ts';
import type { Source } from '../repository/source.ts';

/** Reads the files of commits. */
type SnapshotSource = Pick<Source, 'snapshot'>;

interface ReadOptions extends Omit<Before, 'parsedFiles'> {
  /** Default: by the machine's clock. */
  readonly breathe?: Breathe | undefined;
  /** Omitted: the followed directory. */
  readonly directory?: string | undefined;
}

/** Reads a commit and derives it, reusing parts of another desired state. Lets other work run often. */
export async function deriveAt(
  source: SnapshotSource,
  commit: string,
  { breathe = breatheBy(systemClock), ...before }: ReadOptions,
): Promise<Derivation> {
  const snapshot = await orContentError(readCommit(source, commit, before));
  return snapshot instanceof Error ? unreadable(commit, snapshot) : await deriveInTurns(snapshot, before, breathe);
}

/** Reads a commit and returns what it proposes. A commit that can never be read is not followed. */
export async function proposeAt(
  source: SnapshotSource,
  commit: string,
  { breathe = breatheBy(systemClock), ...before }: ReadOptions,
): Promise<ProposedCommit> {
  const snapshot = await orContentError(readCommit(source, commit, before));
  return snapshot instanceof Error ? unreadable(commit, snapshot) : await proposeInTurns(snapshot, before, breathe);
}

function unreadable(commit: string, { message: reason }: Error): RefusedDerivation {
  const message = `commit ${commit} cannot be read: ${reason}`;
  const hint = 'push a commit that takes it back';
  const place = { file: '.', line: 1, column: 1, pointer: '' };
  const problem: Problem = { code: 'unreadable_commit', severity: 'error', ...place, message, hint, instances: [] };
  return { isFollowed: false, filesCount: 0, problems: [problem], nothingLeft: undefined, cause: problem };
}

/** Reads a commit with the content of files that are not parsed yet. */
export async function readCommit(
  source: SnapshotSource,
  commit: string,
  { earlier, directory }: Omit<ReadOptions, 'baseline'>,
): Promise<Snapshot> {
  return await source.snapshot(commit, wantsBlob(earlier?.catalog), directory);
}
