// Explains records: all layers of a node, from the active desired state, the rows and the history of the repository.
// Searches of the history have a time limit, because any client that may read can request one.
// See docs/rest.md, explanations.

import { explanationOfNode } from '../../desired/node-records.ts';
import { filesIn } from '../../hiera/explain-node.ts';
import type { FileChange, FilelessExplanation, NodeExplanation } from '../../model/explanation.ts';
import type { Client } from '../../model/objects.ts';
import type { ServiceError } from '../../model/service-error.ts';
import type { LastFileChanges, Source } from '../../repository/source.ts';
import { unknownKey, unknownNode } from '../refusals.ts';
import { Scope } from '../scope.ts';
import { activeView, type View, type ViewSources } from '../views.ts';

interface ExplainerOptions extends ViewSources {
  readonly history: FileHistory;
}

/** Explains records. */
export type Explainer = ReturnType<typeof createExplainer>;

/** Returns the explainer. */
export function createExplainer(options: ExplainerOptions) {
  /** Every file of an explanation is of the same commit. */
  async function withFiles(explained: FilelessExplanation): Promise<NodeExplanation> {
    const { commit } = explained;
    const paths = filesIn(explained);
    const files = commit === null ? unrecorded(paths) : await options.history(commit, paths);
    return { ...explained, files };
  }

  return {
    /**
     * Returns all layers of a node that a client sees, with their values of every key, or of one. Throws ServiceError:
     * `not_ready` before the first good commit, `not_found` for an unknown node or key.
     */
    async explain(by: Client, node: string, key?: string): Promise<NodeExplanation> {
      const view = activeView(options);
      const scope = new Scope(by, options);
      const explained = scope.seesNode(node) ? explanationOfNode(view, node, key) : undefined;
      if (explained === undefined) return unknownNode(view, node, scope);
      if (key !== undefined && Object.keys(explained.keys).length === 0) throw missingKey(view, node, key);
      return await withFiles(explained);
    },
  };
}

function missingKey(view: View, node: string, key: string): ServiceError {
  const keys = explanationOfNode(view, node)?.keys ?? {};
  return unknownKey(node, key, Object.keys(keys));
}

function unrecorded(paths: readonly string[]): NodeExplanation['files'] {
  return Object.fromEntries(paths.map((path) => [path, unknownChange('not recorded')]));
}

/** Searches the history; see Source.lastChanges. */
type SearchFiles = (...search: Parameters<Source['lastChanges']>) => Promise<LastFileChanges | undefined>;

/** Returns the last change of each of these files, at a commit or before it. */
export type FileHistory = (commit: string, paths: readonly string[]) => Promise<Readonly<Record<string, FileChange>>>;

const SEARCH_MS = 2_000;

const NOT_READ = 'the history cannot be read now';
const NOT_THERE = 'not in this commit';

/** Returns a change with an unknown commit. `note`: why it is unknown. */
export function unknownChange(note: string): FileChange {
  return { commit: null, time: null, note };
}

/** Returns the history. `search` returns undefined if the local copy of the repository cannot be read. */
export function createFileHistory(search: SearchFiles): FileHistory {
  return async (commit, paths) => {
    const found = paths.length === 0 ? new Map() : await search(commit, paths, SEARCH_MS);
    const changeAt = (path: string) => (found ? changeOf(found.get(path), SEARCH_MS) : unknownChange(NOT_READ));
    return Object.fromEntries(paths.map((path) => [path, changeAt(path)]));
  };
}

/** The outcome of a search for one file; see Source.lastChanges. */
type FoundChange = ReturnType<LastFileChanges['get']>;

/** Returns the result of a search within limits. */
export function changeOf(found: FoundChange, timeoutMs: number): FileChange {
  if (found === undefined) return unknownChange(NOT_THERE);
  if (found !== null) return { commit: found.oid, time: found.time, note: null };
  return unknownChange(`not found within ${timeoutMs / 1000} s`);
}
