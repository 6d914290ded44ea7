// Defines the catalog: the files of one commit, each read and checked alone, and their objects by name. derive.ts later
// checks references between objects.
import type { Entry } from '../model/entry.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { Client, Hierarchy, StackInstance, StackTemplate, TreeNode, TypedObject } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { Snapshot } from '../model/snapshot.ts';

/** The types of files in the layout; each has a JSON Schema of that name. */
export type FileType = 'tree' | 'hierarchy' | 'stack-template' | 'stack-instance' | 'client' | PlainTypeName;

/** A file of the layout, read without regard to other files. */
export interface FileEntry extends Entry<unknown> {
  /** Null if the file is not an object, such as a symbolic link or a file with a wrong name. */
  readonly type: FileType | null;
  /** The name from the path: the canonical serial of a client; `tree` or `hierarchy` for those two files. */
  readonly name: string;
  /** Includes the byte order mark. Null if the file was not read or is not text. */
  readonly text: string | null;
  /** The size of the file; 0 if it was not read. */
  readonly bytes: number;
}

/** The checked files of one commit, by type and name. */
export interface Catalog {
  readonly commit: string;
  /** Committer time, RFC 3339 in UTC. */
  readonly time: string;
  readonly templates: ReadonlyMap<string, Entry<StackTemplate>>;
  readonly instances: ReadonlyMap<string, Entry<StackInstance>>;
  /** By canonical serial. */
  readonly clients: ReadonlyMap<string, Entry<Client>>;
  /** Objects below `types/`, by `<type>/<name>`. */
  readonly objects: ReadonlyMap<string, Entry<TypedObject>>;
  readonly tree: Entry<TreeNode>;
  /** Fields that the file leaves out have their defaults, and so have all fields if there is no file. */
  readonly hierarchy: Entry<Hierarchy>;
  /**
   * Every file of the layout by path, each checked alone, including files that are not objects. The next commit reuses
   * these entries. A mistake that involves two files is only in the entries above.
   */
  readonly files: ReadonlyMap<string, FileEntry>;
  /** Every path of the snapshot, including files outside the layout: such a file may now be where an object was. */
  readonly places: Snapshot['files'];
  /** The objects above whose files could not be read, by `<type>/<name>`; see unreadable.ts. */
  readonly unreadable: ReadonlyMap<string, FileEntry>;
  /** All problems of all files, sorted. */
  readonly problems: readonly Problem[];
  /** The problems that refuse the whole commit: of the tree, hierarchy.yaml, and the number of files. */
  readonly fatal: readonly Problem[];
  /** The number of files that were parsed for this catalog instead of reused from the previous one. */
  readonly parsed: number;
}
