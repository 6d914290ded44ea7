// Explains a node as a directory, or a commit of the repository around it, defines it: without a controller, so that
// outputs of providers are not known.
import type { Derivation } from '../../derive.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { explanationOfNode, nodeNames } from '../../desired/node-records.ts';
import { filesIn } from '../../hiera/explain-node.ts';
import { instanceAddress } from '../../model/address.ts';
import type { ExplainedLayer, FileChange, NodeExplanation } from '../../model/explanation.ts';
import { isError, sortProblems } from '../../model/problem.ts';
import { didYouMean } from '../../model/suggest.ts';
import { CommandFailure } from '../command-failure.ts';
import { formatProblem } from '../format-problem.ts';

/** The node and the key to explain; undefined: every key. */
export interface Subject {
  readonly node: string;
  readonly key: string | undefined;
}

/** A directory or a commit, derived. */
export interface ExplainedState {
  readonly desired: DesiredState;
  /** Its name in messages: `the directory`, or the revision as it was given. */
  readonly title: string;
  /** Returns the last changes of files; without a repository, of none. */
  readonly history: (files: readonly string[]) => Promise<Readonly<Record<string, FileChange>>>;
}

/** Returns the desired state of a derivation. Throws CommandFailure where a mistake stops the whole commit. */
export function desiredOf(derivation: Derivation, title: string): DesiredState {
  if (derivation.isFollowed) return derivation.desired;
  const problems = derivation.problems.filter(isError).map((problem) => formatProblem(problem));
  throw new CommandFailure(`nothing can be explained in ${title} before this is mended:\n${problems.join('\n')}`);
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
  const words = `${node} cannot be explained in ${title} before its instance is mended:`;
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
export async function noHistory(): Promise<Readonly<Record<string, FileChange>>> {
  return {};
}

/** A controller's rows have outputs and times; here `last_stack_update` is that of the directory or the commit. */
function noRows({ time }: DesiredState): Parameters<typeof explanationOfNode>[0]['rows'] {
  return { server: () => undefined, read: () => ({ oid: '', updated: time }) };
}
