// Encodes a pack of whole objects, and the index with which git finds them. See gitformat-pack.
import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import type { GitObject, ObjectType } from './git-object.ts';
import { FIRST_BYTES, PACK_CHECKSUM_BYTES, PACK_HEADER_BYTES, WORD_BYTES } from './pack-files.ts';

/** A pack and its index, as the bytes of both files. */
interface EncodedPack {
  readonly pack: Buffer;
  readonly index: Buffer;
}

/** An object in the pack. */
interface PackedEntry {
  readonly oid: string;
  /** Where its entry begins. */
  readonly offset: number;
  /** The CRC-32 of the entry. */
  readonly crc: number;
}

const TYPE_NUMBERS: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 };
const VERSION = 2;
const INDEX_MAGIC = 0xff744f63;

/** Returns the pack of these objects, by id, and its index. */
export function encodePack(objects: ReadonlyMap<string, GitObject>): EncodedPack {
  const header = Buffer.alloc(PACK_HEADER_BYTES);
  header.write('PACK', 'latin1');
  header.writeUInt32BE(VERSION, 4);
  header.writeUInt32BE(objects.size, 8);
  const pieces = [header];
  const entries: PackedEntry[] = [];
  let offset = PACK_HEADER_BYTES;
  for (const [oid, object] of objects) {
    const entry = Buffer.concat([entryHeader(object), deflateSync(object.bytes)]);
    pieces.push(entry);
    entries.push({ oid, offset, crc: crc32(entry) });
    offset += entry.length;
  }
  const pack = withChecksum(Buffer.concat(pieces));
  return { pack, index: encodeIndex(entries, pack) };
}

/** Type and size: four bits of the size in the first byte, seven in each further one, lowest first. */
function entryHeader({ type, bytes }: GitObject): Buffer {
  const header: number[] = [];
  let byte = (TYPE_NUMBERS[type] << 4) | (bytes.length & 0x0f);
  for (let rest = Math.floor(bytes.length / 16); rest > 0; rest = Math.floor(rest / 128)) {
    header.push(byte | 0x80);
    byte = rest & 0x7f;
  }
  return Buffer.from([...header, byte]);
}

/** Version 2, without offsets of eight bytes: packs made here have far less than 2 GiB. */
function encodeIndex(entries: readonly PackedEntry[], pack: Buffer): Buffer {
  const sorted = entries.toSorted((a, b) => (a.oid < b.oid ? -1 : 1));
  const content = Buffer.concat([
    words([INDEX_MAGIC, VERSION]),
    words(countsByFirstByte(sorted)),
    ...sorted.map(({ oid }) => Buffer.from(oid, 'hex')),
    words(sorted.map(({ crc }) => crc)),
    words(sorted.map(({ offset }) => offset)),
    checksumOf(pack),
  ]);
  return withChecksum(content);
}

/** Returns for each first byte how many ids begin with it or a lower one. */
function countsByFirstByte(entries: readonly PackedEntry[]): readonly number[] {
  const counts = new Array<number>(FIRST_BYTES).fill(0);
  for (const { oid } of entries) {
    const first = Number.parseInt(oid.slice(0, 2), 16);
    counts[first] = (counts[first] ?? 0) + 1;
  }
  let sum = 0;
  return counts.map((count) => {
    sum += count;
    return sum;
  });
}

function words(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * WORD_BYTES);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, at * WORD_BYTES);
  return bytes;
}

function withChecksum(content: Buffer): Buffer {
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
}

/** Returns the checksum at the end of a pack. */
function checksumOf(pack: Buffer): Buffer {
  return pack.subarray(-PACK_CHECKSUM_BYTES);
}
