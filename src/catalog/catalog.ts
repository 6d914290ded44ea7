// Defines the catalog: the files of one commit after each was read and checked on its own, and its objects by name.
// derive.ts checks later what an object needs of others.
import type { Entry } from '../model/entry.ts';
import type { PlainTypeName } from '../model/names.ts';
import type { Client, Hierarchy, StackInstance, StackTemplate, TreeNode, TypedObject } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { Snapshot } from '../model/snapshot.ts';

/** The types of files in the layout; each has a JSON Schema of that name. */
export type FileType = 'tree' | 'hierarchy' | 'stack-template' | 'stack-instance' | 'client' | PlainTypeName;

/** A file of the layout after it was read on its own. */
export interface FileEntry extends Entry<unknown> {
  /** Null for a file that is no object: a symbolic link, a wrong name. */
  readonly type: FileType | null;
  /** As its path gives it: the canonical serial of a client; `tree` and `hierarchy` for those two. */
  readonly name: string;
  /** With its byte order mark. Null where the file was not read, or is no text. */
  readonly text: string | null;
  /** The size of the file; 0 where it was not read. */
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
  /** The file's, with what it leaves out filled in; the defaults where there is no file. */
  readonly hierarchy: Entry<Hierarchy>;
  /**
   * Every file of the layout by path, also those that are no object, each as if it stood alone: what the next commit
   * reuses. A mistake that needs two files to be seen is only in the entries above.
   */
  readonly files: ReadonlyMap<string, FileEntry>;
  /** Every path, also of files that are left alone: one may stand where an object was, or hold its content. */
  readonly places: Snapshot['files'];
  /** The objects that are found above without having been read, by `<type>/<name>`; see unreadable.ts. */
  readonly unreadable: ReadonlyMap<string, FileEntry>;
  /** All problems of all files, sorted. */
  readonly problems: readonly Problem[];
  /** The problems for which the whole commit is not taken: the tree, hierarchy.yaml, the number of files. */
  readonly fatal: readonly Problem[];
  /** The number of files that were parsed for this catalog, and not reused from the one before. */
  readonly parsed: number;
}
