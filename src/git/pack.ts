// One pack of the local copy: finds objects by id and inflates them, up to a size. Keeps the index in memory and reads the
// pack piece by piece. Does not check that an object hashes to its id; see object-store.ts.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { constants, inflateSync } from 'node:zlib';
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
const CHECKSUM_BYTES = 20;
/** Read at once: the header, which has at most 32 bytes, and with it the whole of a small object. */
const BEGINNING_BYTES = 4096;
/** In so many deflated bytes of a delta stands the size of what it makes. */
const DELTA_HEADER_BYTES = 1024;
/** Git itself makes no longer chains than 4095. */
const CHAIN_MAX = 5000;
/** All that is made on the way to one object has at most so many times the bytes of the largest that is read. */
const CHAIN_SIZES_MAX = 32;
/** Objects that others build on are kept up to this many bytes, so that a chain is not inflated again for each link. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

/** zlib's least, and what is set aside at once however large a damaged header says the object is. */
const CHUNK_BYTES_MIN = 64;
const CHUNK_BYTES_MAX = 1024 * 1024;
/** What does not compress becomes longer by at most so much, for objects that are read at all. */
const DEFLATED_BYTES_MORE = 64 * 1024;

/** An object would take more time and memory than anything that is read here needs. */
export class ObjectTooLargeError extends Error {}

interface PackEntry {
  readonly type: ObjectType | 'delta';
  /** Of what is inflated: the object, or the delta. */
  readonly size: number;
  /** Where the object stands that a delta builds on; 0 for a whole object. */
  readonly base: number;
  /** Where the deflated bytes begin and end. */
  readonly start: number;
  readonly end: number;
  /** The deflated bytes, or the beginning of them. */
  readonly beginning: Buffer;
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

  get bytes(): number {
    return this.#end + CHECKSUM_BYTES;
  }

  /** Returns the size in bytes of the object that begins at `offset`, without making the object. */
  sizeAt(offset: number): number {
    const entry = this.#entryAt(offset);
    if (entry.type !== 'delta') return entry.size;
    const beginning = entry.beginning.subarray(0, DELTA_HEADER_BYTES);
    return sizeAfterDelta(inflateSync(beginning, { finishFlush: constants.Z_SYNC_FLUSH }));
  }

  /**
   * Returns the object that begins at `offset`. Throws ObjectTooLargeError where it, or anything that it is made of, has
   * more than `bytesMax` bytes, or all that together 32 times as many; another error where the pack is damaged there.
   */
  objectAt(offset: number, bytesMax: number): GitObject {
    const chain: { readonly offset: number; readonly delta: Buffer }[] = [];
    let at = offset;
    let made = 0;
    let object = this.#kept.get(at);
    while (object === undefined) {
      const entry = this.#entryAt(at);
      const bytes = this.#inflate(entry, bytesMax);
      if (entry.type === 'delta') {
        if (chain.length >= CHAIN_MAX) throw new Error(`a chain of more than ${CHAIN_MAX} deltas`);
        const size = sizeAfterDelta(bytes);
        refuseLarge(size, bytesMax);
        made += size + bytes.length;
        refuseLarge(made, CHAIN_SIZES_MAX * bytesMax);
        chain.push({ offset: at, delta: bytes });
        at = entry.base;
        object = this.#kept.get(at);
      } else {
        object = { type: entry.type, bytes };
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
    const end = this.index.endOf(offset, this.#end);
    const bytes = this.#bytesAt(offset, Math.min(end - offset, BEGINNING_BYTES));
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
      return {
        type: 'delta',
        size,
        base: offset - distance,
        start: offset + next,
        end,
        beginning: bytes.subarray(next),
      };
    }
    if (kind === OID_DELTA) {
      const next = at + CHECKSUM_BYTES;
      const base = this.index.offsetOf(bytes.toString('hex', at, next));
      if (base === undefined) throw new Error('a delta builds on an object of another pack');
      return { type: 'delta', size, base, start: offset + next, end, beginning: bytes.subarray(next) };
    }
    const type = TYPES.get(kind);
    if (type === undefined) throw new Error(`an object of the unknown type ${kind}`);
    return { type, size, base: 0, start: offset + at, end, beginning: bytes.subarray(at) };
  }

  #inflate({ size, start, end, beginning }: PackEntry, bytesMax: number): Buffer {
    refuseLarge(Math.max(size, end - start - DEFLATED_BYTES_MORE), bytesMax);
    // One byte more than needed, so that one chunk takes a small object whole; the default is 16 KiB for each of them.
    const chunkSize = Math.min(Math.max(size + 1, CHUNK_BYTES_MIN), CHUNK_BYTES_MAX);
    const deflated = beginning.length === end - start ? beginning : this.#bytesAt(start, end - start);
    const bytes = inflateSync(deflated, { maxOutputLength: size + 1, chunkSize });
    if (bytes.length !== size) throw new Error('an object has another size than its header says');
    return bytes;
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

function refuseLarge(bytes: number, bytesMax: number): void {
  if (bytes > bytesMax) throw new ObjectTooLargeError(`an object of ${bytes} bytes, and ${bytesMax} are read at most`);
}
