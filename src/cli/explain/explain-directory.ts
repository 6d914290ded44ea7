// Opens the working directory and commits of the repository around it, and explains a node as they define it: without a
// controller, so that outputs of providers are not known.

import { didYouMean, shortOid } from '../../base/wording.ts';
import { type Derivation, derive } from '../../derive.ts';
import { type DesiredState, EMPTY_BASELINE } from '../../desired/desired-state.ts';
import { explanationOfNode, nodeNames } from '../../desired/node-records.ts';
import { deriveAt } from '../../follow/read-commit.ts';
import { filesIn } from '../../hiera/explain-node.ts';
import { instanceAddress } from '../../model/address.ts';
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

/** A directory or a commit, derived. */
interface ExplainedState {
  readonly desired: DesiredState;
  /** Its name in messages: `the directory`, or the revision as it was given. */
  readonly title: string;
  /** Returns the last changes of files; without a repository, of none. */
  readonly history: (files: readonly string[]) => Promise<Readonly<Record<string, FileChange>>>;
}

/** Returns the desired state of a derivation. Throws CommandFailure where a mistake stops the whole commit. */
function requireDesired(derivation: Derivation, title: string): DesiredState {
  if (derivation.isFollowed) return derivation.desired;
  const problems = derivation.problems.filter(isError).map((problem) => formatProblem(problem));
  throw new CommandFailure(`nothing can be explained in ${title} before this is corrected:\n${problems.join('\n')}`);
}

/**
 * Returns the explanation of a node, or of one of its keys; undefined where the node does not exist. Throws CommandFailure
 * where its instance is wrong.
 */
export async function explainIn(
  { desired, title, history }: ExplainedState,
  { node, key }: Subject,
): Promise<NodeExplanation | undefined> {
  refuseWrongInstance({ desired, title }, node);
  const explained = explanationOfNode({ desired, rows: noRows(desired) }, node, key);
  if (explained === undefined) return undefined;
  return { ...explained, layers: explained.layers.map(withoutOutputs), files: await history(filesIn(explained)) };
}

/**
 * Throws CommandFailure where an instance that makes the node is wrong: it makes no servers here, so a clientcert file of
 * one of them would look like a node of its own. `instances` are those that make it in another state: the servers of an
 * instance without a readable template are not known.
 */
export function refuseWrongInstance(
  { desired, title }: Pick<ExplainedState, 'desired' | 'title'>,
  node: string,
  instances: readonly string[] = [],
): void {
  const addresses = new Set(instances.map(instanceAddress));
  const wrong = [...desired.candidates].find(
    ([key, unit]) => !desired.units.has(key) && (unit.nodes.has(node) || addresses.has(key)),
  )?.[1];
  if (wrong === undefined) return;
  const problems = sortProblems(wrong.problems.filter(isError)).map((problem) => formatProblem(problem));
  const words = `${node} cannot be explained in ${title} before its instance is corrected:`;
  throw new CommandFailure([words, ...problems].join('\n'));
}

/** Only the rows of a controller have what providers reported. */
function withoutOutputs(layer: ExplainedLayer): ExplainedLayer {
  return layer.kind === 'outputs' ? { ...layer, status: 'not known' } : layer;
}

/** Returns the failure for a node that does not exist. */
export function missingNode({ desired, title }: ExplainedState, { node }: Subject): CommandFailure {
  const advice =
    didYouMean(node, nodeNames(desired)) ??
    `no valid instance makes it in ${title}, and no clientcert has that name: see "treeline validate"`;
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
      return { desired: requireDesired(derivation, title), title, history: historyOfDirectory(opened, snapshot) };
    },
    async revision(revision, earlier) {
      if (opened instanceof SourceError) throw opened;
      const commit = await opened.resolve(revision);
      const short = shortOid(commit);
      const title = commit.startsWith(revision) ? short : `${revision} (${short})`;
      const derivation = await deriveAt(opened, commit, { baseline: EMPTY_BASELINE, earlier });
      return {
        desired: requireDesired(derivation, title),
        title,
        history: (files) => changesAt(opened, commit, files),
      };
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
