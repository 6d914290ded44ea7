// Encodes a pack of whole objects. See gitformat-pack.
import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import type { GitObject, ObjectType } from './git-object.ts';

const TYPE_NUMBERS: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 };
const VERSION = 2;
const HEADER_BYTES = 12;

/** Returns the pack, including its checksum. */
export function encodePack(objects: readonly GitObject[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('PACK', 'latin1');
  header.writeUInt32BE(VERSION, 4);
  header.writeUInt32BE(objects.length, 8);
  const content = Buffer.concat([header, ...objects.flatMap((each) => [entryHeader(each), deflateSync(each.bytes)])]);
  return Buffer.concat([content, createHash('sha1').update(content).digest()]);
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
