// A write before it is a commit: what it wants of the files, said in a way that can be asked again of newer ones.
import type { YamlDocument } from '../../catalog/yaml.ts';
import type { Estate } from '../../estate/estate.ts';

/** What becomes of one file; null: it is removed. */
export interface FileEdit {
  readonly path: string;
  readonly text: string | null;
  /** The text as it was parsed; left out where it was not. */
  readonly document?: YamlDocument;
}

export interface Draft {
  /** What it is about: `tree`, or `<type>/<name>`, `client/<serial>` included. */
  readonly address: string;
  /** The first line of the commit's message. */
  readonly subject: string;
  /** Whether it takes something away: then what still needs it is a conflict and not a mistake of the body. */
  readonly isRemoval: boolean;
  /** Returns what to change in the files of an estate; nothing where they say it already. Throws ServiceError. */
  readonly edits: (estate: Estate) => readonly FileEdit[];
}
