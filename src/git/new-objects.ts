// Creates Git objects on top of existing ones. Keeps the new ones in memory, writes nothing.
import { type GitObject, type ObjectType, oidOf } from './git-object.ts';
import type { ObjectReader } from './object-reader.ts';
import { type RawEntry, splitTree } from './tree-bytes.ts';

/** New objects in memory, on top of those of a repository. */
export class NewObjects {
  readonly #present: ObjectReader;
  readonly #made = new Map<string, GitObject>();

  constructor(present: ObjectReader) {
    this.#present = present;
  }

  /** By id, in order of creation, each once. */
  get made(): ReadonlyMap<string, GitObject> {
    return this.#made;
  }

  /**
   * Creates an object and returns its id. It counts as new even if the local copy has it: that one need not belong to
   * the history on which the new commits are based.
   */
  make(type: ObjectType, bytes: Buffer): string {
    const oid = oidOf({ type, bytes });
    this.#made.set(oid, { type, bytes });
    return oid;
  }

  /** Returns the entries of a tree, new or not. Throws DamagedCopyError if it is missing. */
  async entriesOf(oid: string): Promise<readonly RawEntry[]> {
    return splitTree((this.#made.get(oid) ?? (await this.#present.read(oid, 'tree'))).bytes);
  }
}
