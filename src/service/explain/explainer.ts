// Explains records: all layers of a node, from the active desired state, the rows and the history of the repository.
// See docs/rest.md, explanations.

import type { DesiredState } from '../../desired/desired-state.ts';
import { explanationOfNode } from '../../desired/node-records.ts';
import { filesIn } from '../../hiera/explain-node.ts';
import type { FilelessExplanation, NodeExplanation } from '../../model/explanation.ts';
import type { Client } from '../../model/objects.ts';
import type { ServiceError } from '../../model/service-error.ts';
import { unknownKey, unknownNode } from '../refusals.ts';
import { EVERYTHING, Scope } from '../scope.ts';
import { activeView, type View, type ViewSources } from '../views.ts';
import { type FileHistory, unknownChange } from './file-history.ts';

interface ExplainerOptions extends ViewSources {
  readonly history: FileHistory;
}

/**
 * Every method throws ServiceError: `not_ready` before the first good commit, `not_found` for a node or a key that is
 * not there.
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
  };
}

function missingKey(view: View<DesiredState>, node: string, key: string): ServiceError {
  const keys = explanationOfNode(view, node)?.keys ?? {};
  return unknownKey(node, key, Object.keys(keys));
}

function unrecorded(paths: readonly string[]): NodeExplanation['files'] {
  return Object.fromEntries(paths.map((path) => [path, unknownChange('not recorded')]));
}
