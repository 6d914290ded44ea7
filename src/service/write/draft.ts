// Defines a draft: the changes of a write to the files of any commit, so that a lost race can compute them again.
import type { YamlDocument } from '../../catalog/yaml.ts';
import type { DesiredState } from '../../desired/desired-state.ts';

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
  /** Tells that it removes an object: then an object that still needs it is a conflict, and no mistake of the body. */
  readonly isRemoval: boolean;
  /** Returns what to change in the files of a desired state; nothing where they say it already. Throws ServiceError. */
  readonly edits: (desired: DesiredState) => readonly FileEdit[];
}
