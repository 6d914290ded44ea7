// Git objects that are being made on top of those that are here already. Keeps the new ones in memory, writes nothing.
import { type GitObject, type ObjectType, oidOf } from './git-object.ts';
import type { ObjectReader } from './object-reader.ts';
import { type RawEntry, splitTree } from './tree-bytes.ts';

export class NewObjects {
  readonly #present: ObjectReader;
  readonly #made = new Map<string, GitObject>();

  constructor(present: ObjectReader) {
    this.#present = present;
  }

  /** In the order in which they were made, each once. */
  get made(): readonly GitObject[] {
    return [...this.#made.values()];
  }

  /**
   * Makes an object and returns its id. It counts as new even where an object like it is here: what is here need not
   * belong to the history that the new commits build on.
   */
  make(type: ObjectType, bytes: Buffer): string {
    const oid = oidOf({ type, bytes });
    this.#made.set(oid, { type, bytes });
    return oid;
  }

  /** Returns the entries of a tree, new or not. Throws DamagedCopyError where it is not there. */
  async entriesOf(oid: string): Promise<readonly RawEntry[]> {
    return splitTree((this.#made.get(oid) ?? (await this.#present.read(oid, 'tree'))).bytes);
  }
}
