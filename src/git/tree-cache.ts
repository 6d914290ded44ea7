// Keeps trees that were read or made, by id: writes go to the same few directories again and again. An id names one content,
// so that nothing makes an entry invalid.

/** Trees as Git's bytes, up to a number of bytes; the one that was added first gives way. */
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
