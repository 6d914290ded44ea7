// Creates Git objects on top of existing ones. Keeps the new ones in memory, and trees for the next ones; writes nothing.
import { type GitObject, type ObjectType, oidOf } from './git-object.ts';
import type { ObjectReader } from './object-reader.ts';
import { type RawEntry, splitTree } from './tree-bytes.ts';

/** New objects in memory, on top of those of a repository. */
export class NewObjects {
  readonly #present: ObjectReader;
  readonly #trees: TreeCache;
  readonly #made = new Map<string, GitObject>();

  constructor(present: ObjectReader, trees: TreeCache) {
    this.#present = present;
    this.#trees = trees;
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
    if (type === 'tree') this.#trees.add(oid, bytes);
    return oid;
  }

  /** Returns the entries of a tree, new or not. Throws DamagedCopyError if it is missing. */
  async entriesOf(oid: string): Promise<readonly RawEntry[]> {
    return splitTree(this.#made.get(oid)?.bytes ?? this.#trees.get(oid) ?? (await this.#readTree(oid)));
  }

  async #readTree(oid: string): Promise<Buffer> {
    const { bytes } = await this.#present.read(oid, 'tree');
    this.#trees.add(oid, bytes);
    return bytes;
  }
}

/**
 * Trees that were read or made, as Git's bytes, up to a number of bytes; the one that was added first gives way. Writes go to
 * the same few directories again and again. An id names one content, so nothing makes an entry invalid.
 */
export class TreeCache {
  readonly #bytesMax: number;
  readonly #trees = new Map<string, Buffer>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get(oid: string): Buffer | undefined {
    return this.#trees.get(oid);
  }

  add(oid: string, bytes: Buffer): void {
    if (this.#trees.has(oid)) return;
    this.#trees.set(oid, bytes);
    this.#bytes += bytes.length;
    for (const [first, { length }] of this.#trees) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#trees.delete(first);
      this.#bytes -= length;
    }
  }
}
