// Explains records: all layers of a node, and what an approval would change of its record, from the active desired state, the rows and the
// history of the repository. See docs/rest.md, explanations.

import { judgeAgain } from '../../derive.ts';
import type { Safety } from '../../desired/admit.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import { explanationOfNode, nodeOf } from '../../desired/node-records.ts';
import { compareExplanations, filesIn } from '../../hiera/explain-node.ts';
import type { ExplanationDifference, FilelessExplanation, NodeExplanation } from '../../model/explanation.ts';
import type { Client, Hierarchy } from '../../model/objects.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { HeldItem } from '../answers.ts';
import { heldNow } from '../progress/held-items.ts';
import { unknownKey, unknownNode } from '../refusals.ts';
import { EVERYTHING, Scope } from '../scope.ts';
import { activeView, type View, type ViewSources } from '../views.ts';
import { type FileHistory, unknownChange } from './file-history.ts';

interface ExplainerOptions extends ViewSources {
  readonly history: FileHistory;
  /** Returns the facts that decide which deletes may happen, as if what is held under a digest were approved. */
  readonly safetyWith: (digest: string) => Safety;
}

/** What an approval would change of the record of a node. */
export interface ApprovalEffect extends ExplanationDifference {
  /** What would be approved. */
  readonly held: Pick<HeldItem, 'kind' | 'digest' | 'instance' | 'reason'>;
}

/**
 * Every method throws ServiceError: `not_ready` before the first good commit, `not_found` for a node or a key that is not
 * there.
 */
export type Explainer = ReturnType<typeof createExplainer>;

/** Returns the explainer. */
export function createExplainer(options: ExplainerOptions) {
  return {
    ...explainerOf(options, EVERYTHING),
    /** Returns what explains to a client what it sees. */
    as: (by: Client) => explainerOf(options, new Scope(by, options)),
  };
}

function explainerOf(options: ExplainerOptions, scope: Scope) {
  /** Every file of an explanation is of the same commit. */
  async function withFiles(explained: FilelessExplanation): Promise<NodeExplanation> {
    const { commit } = explained;
    const paths = filesIn(explained);
    const files = commit === null ? unrecorded(paths) : await options.history(commit, paths);
    return { ...explained, files };
  }

  return {
    /** Returns all layers of a node, and what they say of every key, or of one. */
    async explain(node: string, key?: string): Promise<NodeExplanation> {
      const view = activeView(options);
      const explained = scope.seesNode(node) ? explanationOfNode(view, node, key) : undefined;
      if (explained === undefined) return unknownNode(view, node, scope);
      if (key !== undefined && Object.keys(explained.keys).length === 0) throw missingKey(view, node, key);
      return await withFiles(explained);
    },
    /**
     * Returns what would change in the record of a node, or in one key, if what is held under a digest were approved now.
     * Throws `not_found` also where nothing is held under the digest, and `conflict` where a whole commit is held.
     */
    async explainApproval(digest: string, node: string, key?: string): Promise<ApprovalEffect> {
      const view = activeView(options);
      const held = heldUnder(digest, options, scope);
      const before = wantedIn(view, node, key);
      const desired = afterApproval(view.desired, held, options);
      const after = wantedIn({ ...view, desired }, node, key);
      if (before === undefined && after === undefined) unknownNode(view, node, scope);
      const isUnset = [before, after].every((side) => Object.keys(side?.keys ?? {}).length === 0);
      if (key !== undefined && isUnset) throw missingKey(view, node, key);
      const [from, to] = await Promise.all([before, after].map((side) => side && withFiles(side)));
      const { kind, instance, reason } = held;
      const hierarchies = [hierarchyOf(view.desired, node), hierarchyOf(desired, node)];
      return { held: { kind, digest, instance, reason }, ...compareExplanations(node, { from, to, hierarchies }) };
    },
  };
}

/** Returns the hierarchy of a node's active version; that of the commit for a node that is not there. */
function hierarchyOf(desired: DesiredState, node: string): Hierarchy | null {
  return nodeOf(desired, node)?.hierarchy ?? desired.catalog.hierarchy.object;
}

/** A server that no commit wants any more has a last record, but an approval changes nothing of it. */
function wantedIn(view: View<DesiredState>, node: string, key: string | undefined): FilelessExplanation | undefined {
  const explained = explanationOfNode(view, node, key);
  return explained?.isWanted === true ? explained : undefined;
}

function missingKey(view: View<DesiredState>, node: string, key: string): ServiceError {
  const keys = explanationOfNode(view, node)?.keys ?? {};
  return unknownKey(node, key, Object.keys(keys));
}

function unrecorded(paths: readonly string[]): NodeExplanation['files'] {
  return Object.fromEntries(paths.map((path) => [path, unknownChange('not recorded')]));
}

function heldUnder(digest: string, { rows, refused }: ExplainerOptions, scope: Scope): HeldItem {
  const held = heldNow(rows, refused(), scope).find((item) => item.digest === digest);
  if (held !== undefined) return held;
  const message = `Nothing is held under the digest "${digest}"; GET /operations/held lists what is held`;
  throw new ServiceError('not_found', message);
}

function afterApproval(
  desired: DesiredState,
  { kind, digest }: HeldItem,
  { safetyWith }: ExplainerOptions,
): DesiredState {
  // The updates that it lets go on change no record: those are at the new version already.
  if (kind === 'failures') return desired;
  if (kind === 'deletes') return judgeAgain(desired, safetyWith(digest));
  const message = `The digest "${digest}" is for a whole commit (${kind}), which is not read before it is approved: "git show" shows what it changes`;
  throw new ServiceError('conflict', message);
}
