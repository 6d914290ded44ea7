// Defines the explanations of the API: all layers of a node, and what an approval would change of its record. See
// docs/rest.md, explanations.
import type { ExplanationDifference, NodeExplanation } from '../model/explanation.ts';
import type { HeldItem } from './operator.ts';

/** What an approval would change of the record of a node. */
export interface ApprovalEffect extends ExplanationDifference {
  /** What would be approved. */
  readonly held: Pick<HeldItem, 'kind' | 'digest' | 'instance' | 'reason'>;
}

/**
 * Every method throws ServiceError: `not_ready` before the first good commit, `not_found` for a node or a key that is not
 * there.
 */
export interface Explainer {
  /** Returns all layers of a node, and what they say of every key, or of one. */
  explain(node: string, key?: string): Promise<NodeExplanation>;

  /**
   * Returns what would change in the record of a node, or in one key, if what is held under a digest were approved now.
   * Throws `not_found` also where nothing is held under the digest, and `conflict` where a whole commit is held.
   */
  explainApproval(digest: string, node: string, key?: string): Promise<ApprovalEffect>;
}
