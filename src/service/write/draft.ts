// Defines a write: its draft, which has the changes to the files of any commit, so that a lost race can compute them
// again, its conditions and its result.
import type { YamlDocument } from '../../catalog/yaml.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import type { Caller } from '../caller.ts';
import type { PresentRows } from '../views.ts';

/** The new text of one file; null: the file is removed. */
export interface FileEdit {
  readonly path: string;
  readonly text: string | null;
  /** The text as it was parsed; left out where it was not. */
  readonly document?: YamlDocument;
}

/** The changes of one write, for any commit. */
export interface Draft {
  /** The address of the object: `tree`, or `<type>/<name>`, `client/<serial>` included. */
  readonly address: string;
  /** The first line of the commit's message. */
  readonly subject: string;
  /** It removes an object: then an object that still needs it is a conflict, and no mistake of the body. */
  readonly isRemoval: boolean;
  /** Of a removal: the message if there is no such object, or the client does not see it. */
  readonly notThere?: string;
  /** Returns what to change in the files of a desired state; nothing where they say it already. Throws ServiceError. */
  readonly edits: (desired: DesiredState) => readonly FileEdit[];
}

/** The client and the conditions of a write. */
export interface WriteOrder extends Caller {
  /** The id of the answer; the commit carries it. */
  readonly requestId: string;
  /** The object's blob must be one of these, as `If-Match` says; undefined: any. */
  readonly ifMatch: readonly string[] | undefined;
  /** The object's blob must be none of these, as `If-None-Match` says; `*`: there must be no file of it. */
  readonly ifNoneMatch?: readonly string[] | undefined;
  /** What is recorded: what a limited client sees depends on it. Left out: nothing. */
  readonly recorded?: PresentRows | undefined;
  /** Writes nothing, and answers with the effects. Left out: false. */
  readonly isDryRun?: boolean;
  /** Called with the address of the object before anything is written. */
  readonly submits?: (address: string) => void;
}

/** `record`: nothing happens to the server, but its record says something else. */
export type Effect = 'created' | 'updated' | 'deleted' | 'retained' | 'record';

/** The effect of a write on one server, as a dry run answers it. */
export interface ServerEffect {
  readonly server: string;
  readonly instance: string;
  /** `held`: it waits for an approval, with everything else of its instance. */
  readonly change: Effect | 'held';
  /** For a held instance: the effect of an approval. */
  readonly once_approved?: Effect;
}

/** The effects of a write. */
export interface Preview {
  /**
   * Of all files that it changes, as git prints it; empty where nothing would change. Paths begin where the layout
   * does.
   */
  readonly diff: string;
  /** The servers that it concerns, sorted by name. */
  readonly servers: readonly ServerEffect[];
}

/** The result of a write. */
export interface WriteResult {
  /** The commit, or null where there was nothing to change. */
  readonly commit: string | null;
  /** The branch that proposes it, where writes are proposed; null where it is on the followed branch. */
  readonly branch: string | null;
  /** Of a dry run, and of nothing else. */
  readonly preview?: Preview;
}
