// Opens a working directory, and explains a node as its files define it: without a controller, so that outputs of
// providers are not known.

import { didYouMean } from '../../base/wording.ts';
import { type Derivation, derive } from '../../derive.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { explanationOfNode, nodeNames } from '../../desired/node-records.ts';
import { filesIn } from '../../hiera/explain-node.ts';
import type { ExplainedLayer, FileChange, NodeExplanation } from '../../model/explanation.ts';
import { isError, sortProblems } from '../../model/problem.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { type LocalRepository, openLocalRepository } from '../../repository/local-repository.ts';
import { SourceError } from '../../repository/source.ts';
import { changeOf, unknownChange } from '../../service/explain/file-history.ts';
import { CommandFailure } from '../command-failure.ts';
import { formatProblem } from '../format-problem.ts';
import { readStacksDirectory } from '../user-directory.ts';

/** The node and the key to explain; undefined: every key. */
export interface Subject {
  readonly node: string;
  readonly key: string | undefined;
}

/** A directory, derived. */
interface ExplainedState {
  readonly desired: DesiredState;
  /** Returns the last changes of files; without a repository, of none. */
  readonly history: (files: readonly string[]) => Promise<Readonly<Record<string, FileChange>>>;
}

/** Returns the desired state of a derivation. Throws CommandFailure where a mistake stops the whole commit. */
function requireDesired(derivation: Derivation): DesiredState {
  if (derivation.isFollowed) return derivation.desired;
  const problems = derivation.problems.filter(isError).map((problem) => formatProblem(problem));
  throw new CommandFailure(
    `nothing can be explained in the directory before this is corrected:\n${problems.join('\n')}`,
  );
}

/**
 * Returns the explanation of a node, or of one of its keys; undefined where the node does not exist. Throws
 * CommandFailure where its instance is wrong.
 */
export async function explainIn(
  { desired, history }: ExplainedState,
  { node, key }: Subject,
): Promise<NodeExplanation | undefined> {
  refuseWrongInstance(desired, node);
  const explained = explanationOfNode({ desired, rows: noRows(desired) }, node, key);
  if (explained === undefined) return undefined;
  return { ...explained, layers: explained.layers.map(withoutOutputs), files: await history(filesIn(explained)) };
}

/**
 * Throws CommandFailure if an instance that makes the node is wrong. It makes no servers here, so a clientcert file of
 * one of them would look like a node of its own.
 */
function refuseWrongInstance(desired: DesiredState, node: string): void {
  const wrong = [...desired.candidates].find(([key, unit]) => !desired.units.has(key) && unit.nodes.has(node))?.[1];
  if (wrong === undefined) return;
  const problems = sortProblems(wrong.problems.filter(isError)).map((problem) => formatProblem(problem));
  const words = `${node} cannot be explained before its instance is corrected:`;
  throw new CommandFailure([words, ...problems].join('\n'));
}

/** Only the rows of a controller have what providers reported. */
function withoutOutputs(layer: ExplainedLayer): ExplainedLayer {
  return layer.kind === 'outputs' ? { ...layer, status: 'not known' } : layer;
}

/** Returns the failure for a node that does not exist. */
export function missingNode({ desired }: ExplainedState, { node }: Subject): CommandFailure {
  const advice =
    didYouMean(node, nodeNames(desired)) ??
    `no valid instance makes it in the directory, and no clientcert has that name: see "treeline validate"`;
  return new CommandFailure(`there is no node "${node}"; ${advice}`);
}

/** Returns the failure for a key that no layer of an existing node sets. */
export async function missingKey(state: ExplainedState, { node, key = '' }: Subject): Promise<CommandFailure> {
  const whole = await explainIn({ ...state, history: noHistory }, { node, key: undefined });
  const advice = didYouMean(key, Object.keys(whole?.keys ?? {})) ?? 'key names are case sensitive';
  return new CommandFailure(`its record has no key "${key}"; ${advice}`);
}

/** Knows no changes. */
async function noHistory(): Promise<Readonly<Record<string, FileChange>>> {
  return {};
}

/** A controller's rows have outputs and times; here `last_stack_update` is that of the directory or the commit. */
function noRows({ time }: DesiredState): Parameters<typeof explanationOfNode>[0]['rows'] {
  return { server: () => undefined, read: () => ({ oid: '', updated: time }) };
}

const LIMITS = { commitsMax: 20_000, timeoutMs: 10_000 };
const NOT_COMMITTED = unknownChange('not committed');
const SHALLOW = unknownChange('older than this shallow clone: git fetch --unshallow');

/**
 * Returns a directory, given as an absolute path. Without a Git repository around it, no changes are known. Call
 * `close` in the end.
 */
export async function openDirectory(
  directory: string,
): Promise<{ readonly state: ExplainedState; readonly close: () => void }> {
  const opened = await openRepository(directory);
  const snapshot = await readStacksDirectory(directory);
  const desired = requireDesired(derive(snapshot));
  return {
    state: { desired, history: historyOfDirectory(opened, snapshot) },
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
    const head = await readHead(repository);
    if (head === undefined) return Object.fromEntries(files.map((file) => [file, NOT_COMMITTED]));
    const { files: committed } = await repository.snapshot(head, () => false);
    const isCommitted = (file: string): boolean => committed.get(file)?.oid === present.get(file)?.oid;
    const changes = await changesAt(repository, head, files.filter(isCommitted));
    return Object.fromEntries(files.map((file) => [file, changes[file] ?? NOT_COMMITTED]));
  };
}

/** Returns the commit that is checked out; undefined before the first one. */
async function readHead(repository: LocalRepository): Promise<string | undefined> {
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
