// Defines a write: its draft, its conditions and its result. A draft computes the changes to the files of any commit,
// so a write that loses a race is computed again.
import type { YamlDocument } from '../../catalog/yaml.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import type { Caller } from '../caller.ts';
import type { PresentRows } from '../views.ts';

/** The new text of one file; null: the file is removed. */
export interface FileEdit {
  readonly path: string;
  readonly text: string | null;
  /** The parsed text; omitted if it was not parsed. */
  readonly document?: YamlDocument;
}

/** The changes of one write, for any commit. */
export interface Draft {
  /** The address of the object: `tree`, or `<type>/<name>`, `client/<serial>` included. */
  readonly address: string;
  /** The first line of the commit's message. */
  readonly subject: string;
  /**
   * True if it removes an object. If the object is still in use, the error is a conflict, not a mistake of the body.
   */
  readonly isRemoval: boolean;
  /** For a removal: the message if there is no such object, or if the client does not see it. */
  readonly notThere?: string;
  /** Returns the changes to the files of a desired state; none if there is nothing to change. Throws ServiceError. */
  readonly edits: (desired: DesiredState) => readonly FileEdit[];
}

/** The client and the conditions of a write. */
export interface WriteOrder extends Caller {
  /** The id of the answer; also in the commit message. */
  readonly requestId: string;
  /** The object's blob must be one of these, as `If-Match` says; undefined: any. */
  readonly ifMatch: readonly string[] | undefined;
  /** The object's blob must be none of these, as `If-None-Match` says; `*`: the object must have no file. */
  readonly ifNoneMatch?: readonly string[] | undefined;
  /** The rows, which decide what a limited client sees. Omitted: none. */
  readonly recorded?: PresentRows | undefined;
  /** Writes nothing, and answers with the effects. Default: false. */
  readonly isDryRun?: boolean;
  /** Called with the address of the object before the write. */
  readonly submits?: (address: string) => void;
}

/** `record`: only the server's record changes. */
export type Effect = 'created' | 'updated' | 'deleted' | 'retained' | 'record';

/** The effect of a write on one server, as a dry run answers it. */
export interface ServerEffect {
  readonly server: string;
  readonly instance: string;
  /** `held`: the change waits for an approval, like all changes of its instance. */
  readonly change: Effect | 'held';
  /** For a held instance: the effect of an approval. */
  readonly once_approved?: Effect;
}

/** The effects of a write. */
export interface Preview {
  /**
   * The diff of all changed files in git's format; empty if nothing would change. Paths are relative to the layout.
   */
  readonly diff: string;
  /** The affected servers, sorted by name. */
  readonly servers: readonly ServerEffect[];
}

/** The result of a write. */
export interface WriteResult {
  /** The commit, or null if there was nothing to change. */
  readonly commit: string | null;
  /** The branch that proposes the commit; null if the commit is on the followed branch. */
  readonly branch: string | null;
  /** Only for a dry run. */
  readonly preview?: Preview;
}
