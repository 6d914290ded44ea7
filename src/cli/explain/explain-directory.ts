// Explains a node from the files of a working directory, without a controller, so outputs of providers are unknown.

import { didYouMean } from '../../base/wording.ts';
import { derive } from '../../derive.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { explanationOfNode, nodeNames, noSuchNode } from '../../desired/node-records.ts';
import { filesIn } from '../../hiera/explain-node.ts';
import type { ExplainedLayer, FileChange, NodeExplanation } from '../../model/explanation.ts';
import { isError, sortProblems } from '../../model/problem.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { openLocalRepository } from '../../repository/local-repository.ts';
import { SourceError } from '../../repository/source.ts';
import { changeOf, unknownChange } from '../../service/explain/explainer.ts';
import { CommandFailure } from '../command-failure.ts';
import { formatProblem } from '../format-problem.ts';
import { readStacksDirectory } from '../user-directory.ts';

/** The node and the key to explain; undefined: every key. */
export interface Subject {
  readonly node: string;
  readonly key: string | undefined;
}

/**
 * Resolves with the explanation of a node, or of one of its keys, in a directory (absolute path). Throws
 * CommandFailure if an error affects the whole directory or the node's instance, or if the node or the key does not
 * exist.
 */
export async function explainDirectory(directory: string, { node, key }: Subject): Promise<NodeExplanation> {
  const snapshot = await readStacksDirectory(directory);
  const derivation = derive(snapshot);
  if (!derivation.isFollowed) {
    const problems = derivation.problems.filter(isError).map((problem) => formatProblem(problem));
    const words = 'nothing can be explained in the directory before this is corrected:';
    throw new CommandFailure([words, ...problems].join('\n'));
  }
  const { desired } = derivation;
  refuseWrongInstance(desired, node);
  const whole = explanationOf(desired, node, undefined);
  if (whole === undefined) throw new CommandFailure(noSuchNode(node, nodeNames(desired)));
  const explained = key === undefined ? whole : (explanationOf(desired, node, key) ?? whole);
  if (key !== undefined && Object.keys(explained.keys).length === 0) {
    const advice = didYouMean(key, Object.keys(whole.keys)) ?? 'key names are case sensitive';
    throw new CommandFailure(`its record has no key "${key}"; ${advice}`);
  }
  const files = await lastChangesIn(directory, snapshot, filesIn(explained));
  return { ...explained, layers: explained.layers.map(withoutOutputs), files };
}

/**
 * Throws CommandFailure if the node's instance is invalid. Such an instance has no servers here, so a clientcert file
 * of one of them would look like a hand-written node.
 */
function refuseWrongInstance(desired: DesiredState, node: string): void {
  const wrong = [...desired.candidates].find(([key, unit]) => !desired.units.has(key) && unit.nodes.has(node))?.[1];
  if (wrong === undefined) return;
  const problems = sortProblems(wrong.problems.filter(isError)).map((problem) => formatProblem(problem));
  const words = `${node} cannot be explained before its instance is corrected:`;
  throw new CommandFailure([words, ...problems].join('\n'));
}

/** Without rows, there are no outputs, and `last_stack_update` is the time of the directory. */
function explanationOf(desired: DesiredState, node: string, key: string | undefined) {
  const rows = { server: () => undefined, read: () => ({ oid: '', updated: desired.time }) };
  return explanationOfNode({ desired, rows }, node, key);
}

/** Removes outputs, which only the rows of a controller have. */
function withoutOutputs(layer: ExplainedLayer): ExplainedLayer {
  return layer.kind === 'outputs' ? { ...layer, status: 'not known' } : layer;
}

const SEARCH_MS = 10_000;
const NOT_COMMITTED = unknownChange('not committed');
const SHALLOW = unknownChange('older than this shallow clone: git fetch --unshallow');

/** Resolves with the last change of each file up to HEAD; empty without a repository around the directory. */
async function lastChangesIn(
  directory: string,
  { files: present }: Snapshot,
  files: readonly string[],
): Promise<Readonly<Record<string, FileChange>>> {
  using repository = await orUndefined(openLocalRepository(directory));
  const head = await orUndefined(repository?.resolve('HEAD'));
  if (repository === undefined) return {};
  if (head === undefined) return Object.fromEntries(files.map((file) => [file, NOT_COMMITTED]));
  const committed = (await repository.snapshot(head, () => false)).files;
  const found = await repository.lastChanges(head, files, SEARCH_MS);
  const changes = files.map((file) => {
    if (committed.get(file)?.oid !== present.get(file)?.oid) return [file, NOT_COMMITTED] as const;
    const change = found.get(file);
    return [file, change === null && repository.isShallow ? SHALLOW : changeOf(change, SEARCH_MS)] as const;
  });
  return Object.fromEntries(changes);
}

/** Returns undefined if the repository or its HEAD is missing. */
async function orUndefined<Value>(found: Promise<Value> | undefined): Promise<Value | undefined> {
  try {
    return await found;
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}
