// One pack of the local copy: finds objects by id and inflates them. Keeps the index in memory and reads the pack piece
// by piece. Does not check that an object hashes to its id; see object-store.ts.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { inflateSync } from 'node:zlib';
import { applyDelta, sizeAfterDelta } from './delta.ts';
import type { GitObject, ObjectType } from './git-object.ts';
import { PackIndex } from './pack-index.ts';

/** The types of whole objects, by their number in a pack. */
const TYPES: ReadonlyMap<number, ObjectType> = new Map([
  [1, 'commit'],
  [2, 'tree'],
  [3, 'blob'],
  [4, 'tag'],
]);
const OFFSET_DELTA = 6;
const OID_DELTA = 7;
const HEADER_BYTES = 12;
const CHECKSUM_BYTES = 20;
/** Git itself makes no longer chains than 4095. */
const CHAIN_MAX = 5000;
/** Objects that others build on are kept up to this many bytes, so that a chain is not inflated again for each link. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

/** zlib's least, and what is set aside at once however large a damaged header says the object is. */
const CHUNK_BYTES_MIN = 64;
const CHUNK_BYTES_MAX = 1024 * 1024;

interface PackEntry {
  readonly type: ObjectType | 'delta';
  /** Of what is inflated: the object, or the delta. */
  readonly size: number;
  /** Where the object stands that a delta builds on; 0 for a whole object. */
  readonly base: number;
  readonly deflated: Buffer;
}

export class Pack {
  readonly index: PackIndex;
  readonly #file: number;
  /** Where the objects end and the checksum begins. */
  readonly #end: number;
  /** By offset, oldest first. */
  readonly #kept = new Map<number, GitObject>();
  #keptBytes = 0;

  /** Opens `<base>.pack` and `<base>.idx`. Throws where one is missing or no such file. The caller closes it. */
  constructor(base: string) {
    this.index = new PackIndex(readFileSync(`${base}.idx`));
    this.#file = openSync(`${base}.pack`, 'r');
    this.#end = fstatSync(this.#file).size - CHECKSUM_BYTES;
  }

  /** Returns the number of objects that the pack itself says it holds. Throws where it is no pack of version 2. */
  countInHeader(): number {
    const header = this.#bytesAt(0, HEADER_BYTES);
    if (header.toString('latin1', 0, 4) !== 'PACK' || header.readUInt32BE(4) !== 2) throw new Error('no pack');
    return header.readUInt32BE(8);
  }

  /** Returns the size in bytes of the object that begins at `offset`, without making the object. */
  sizeAt(offset: number): number {
    const entry = this.#entryAt(offset);
    return entry.type === 'delta' ? sizeAfterDelta(inflate(entry)) : entry.size;
  }

  /** Returns the object that begins at `offset`. Throws where the pack is damaged there. */
  objectAt(offset: number): GitObject {
    const chain: { readonly offset: number; readonly delta: Buffer }[] = [];
    let at = offset;
    let object = this.#kept.get(at);
    while (object === undefined) {
      const entry = this.#entryAt(at);
      if (entry.type === 'delta') {
        if (chain.length >= CHAIN_MAX) throw new Error(`a chain of more than ${CHAIN_MAX} deltas`);
        chain.push({ offset: at, delta: inflate(entry) });
        at = entry.base;
        object = this.#kept.get(at);
      } else {
        object = { type: entry.type, bytes: inflate(entry) };
      }
    }
    for (const link of chain.reverse()) {
      this.#keep(at, object);
      at = link.offset;
      object = { type: object.type, bytes: applyDelta(object.bytes, link.delta) };
    }
    return object;
  }

  close(): void {
    closeSync(this.#file);
  }

  #entryAt(offset: number): PackEntry {
    const bytes = this.#bytesAt(offset, this.index.endOf(offset, this.#end) - offset);
    let at = 0;
    let byte = bytes.readUInt8(at++);
    const kind = (byte >> 4) & 7;
    let size = byte & 0x0f;
    for (let scale = 16; byte >= 0x80; scale *= 128) {
      byte = bytes.readUInt8(at++);
      size += (byte & 0x7f) * scale;
    }
    if (kind === OFFSET_DELTA) {
      const { distance, next } = readDistance(bytes, at);
      return { type: 'delta', size, base: offset - distance, deflated: bytes.subarray(next) };
    }
    if (kind === OID_DELTA) {
      const base = this.index.offsetOf(bytes.toString('hex', at, at + CHECKSUM_BYTES));
      if (base === undefined) throw new Error('a delta builds on an object of another pack');
      return { type: 'delta', size, base, deflated: bytes.subarray(at + CHECKSUM_BYTES) };
    }
    const type = TYPES.get(kind);
    if (type === undefined) throw new Error(`an object of the unknown type ${kind}`);
    return { type, size, base: 0, deflated: bytes.subarray(at) };
  }

  #bytesAt(offset: number, length: number): Buffer {
    if (offset < 0 || length <= 0 || offset + length > this.#end) throw new Error('a pack ends too early');
    const bytes = Buffer.allocUnsafe(length);
    if (readSync(this.#file, bytes, 0, length, offset) !== length) throw new Error('a pack ends too early');
    return bytes;
  }

  #keep(offset: number, object: GitObject): void {
    if (this.#kept.has(offset) || object.bytes.length > KEPT_BYTES_MAX) return;
    this.#kept.set(offset, object);
    this.#keptBytes += object.bytes.length;
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#keptBytes <= KEPT_BYTES_MAX) return;
      this.#kept.delete(oldest);
      this.#keptBytes -= bytes.length;
    }
  }
}

/** The distance back to a delta's base: seven bits a byte, highest first, and one added with every further byte. */
function readDistance(bytes: Buffer, start: number): { readonly distance: number; readonly next: number } {
  let next = start;
  let byte = bytes.readUInt8(next++);
  let distance = byte & 0x7f;
  while (byte >= 0x80) {
    byte = bytes.readUInt8(next++);
    distance = (distance + 1) * 128 + (byte & 0x7f);
  }
  return { distance, next };
}

function inflate({ deflated, size }: PackEntry): Buffer {
  // One byte more than needed, so that one chunk takes a small object whole; the default is 16 KiB for each of them.
  const chunkSize = Math.min(Math.max(size + 1, CHUNK_BYTES_MIN), CHUNK_BYTES_MAX);
  const bytes = inflateSync(deflated, { maxOutputLength: size + 1, chunkSize });
  if (bytes.length !== size) throw new Error('an object has another size than its header says');
  return bytes;
}
