// The index of a pack (version 2): where in the pack an object stands. See gitformat-pack, "Version 2 pack-*.idx files".

const MAGIC = 0xff744f63;
const FANOUT_AT = 8;
const OIDS_AT = FANOUT_AT + 256 * 4;
const OID_BYTES = 20;
const TRAILER_BYTES = 2 * OID_BYTES;

export class PackIndex {
  /** How many objects the pack holds. */
  readonly count: number;
  readonly #bytes: Buffer;
  readonly #offsetsAt: number;
  /** All offsets in ascending order: an object ends where the next one begins. Made when first needed. */
  #ascending: Uint32Array | undefined;

  /** Throws where the bytes are no whole index of version 2, or where the pack is larger than 2 GiB. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    if (bytes.length < OIDS_AT + TRAILER_BYTES || bytes.readUInt32BE(0) !== MAGIC || bytes.readUInt32BE(4) !== 2) {
      throw new Error('no index of version 2');
    }
    this.count = bytes.readUInt32BE(OIDS_AT - 4);
    this.#offsetsAt = OIDS_AT + this.count * (OID_BYTES + 4);
    if (this.#offsetsAt + this.count * 4 + TRAILER_BYTES !== bytes.length) throw new Error('an index of another size');
  }

  /** SHA-1 of the pack that it belongs to, in hexadecimal. */
  get packChecksum(): string {
    const start = this.#bytes.length - TRAILER_BYTES;
    return this.#bytes.toString('hex', start, start + OID_BYTES);
  }

  /** Returns where the object begins in the pack, or undefined where the pack does not hold it. */
  offsetOf(oid: string): number | undefined {
    const wanted = Buffer.from(oid, 'hex');
    const first = wanted.readUInt8(0);
    let low = first === 0 ? 0 : this.#bytes.readUInt32BE(FANOUT_AT + (first - 1) * 4);
    let high = this.#bytes.readUInt32BE(FANOUT_AT + first * 4);
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = OIDS_AT + middle * OID_BYTES;
      const order = this.#bytes.compare(wanted, 0, OID_BYTES, at, at + OID_BYTES);
      if (order === 0) return this.#offsetAt(middle);
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  /** Returns where the object that begins at `offset` ends: at the next one, or at `packEnd`. */
  endOf(offset: number, packEnd: number): number {
    const offsets = this.#sorted();
    let low = 0;
    let high = offsets.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((offsets[middle] ?? 0) <= offset) low = middle + 1;
      else high = middle;
    }
    return offsets[low] ?? packEnd;
  }

  #offsetAt(place: number): number {
    const offset = this.#bytes.readUInt32BE(this.#offsetsAt + place * 4);
    // The highest bit would point into a table for packs that Treeline's own limits never let in.
    if (offset >= 2 ** 31) throw new Error('a pack of more than 2 GiB');
    return offset;
  }

  #sorted(): Uint32Array {
    this.#ascending ??= Uint32Array.from({ length: this.count }, (_, place) => this.#offsetAt(place)).sort();
    return this.#ascending;
  }
}
