// Reads the packs of a bare repository as files: their names, sizes and checksums. Reads no object.
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError } from './git-process.ts';

/** The length of a pack's header, which holds the number of objects. */
export const PACK_HEADER_BYTES = 12;
/** The length of the SHA-1 with which a pack ends, and its index too. */
export const PACK_CHECKSUM_BYTES = 20;
/** The length of a number in an index. */
export const WORD_BYTES = 4;
/** The number of values of an id's first byte; an index has a number for each. */
export const FIRST_BYTES = 256;

const OID_BYTES = 20;
const INDEX_HEADER_BYTES = 8;
const FANOUT_BYTES = FIRST_BYTES * WORD_BYTES;
const CHUNK_BYTES = 1024 * 1024;

/** Returns the packs of a bare repository as paths without their extensions, sorted; none if there is no repository. */
export function packBases(gitDirectory: string): readonly string[] {
  const folder = join(gitDirectory, 'objects', 'pack');
  return namesIn(folder)
    .filter((name) => name.endsWith('.idx'))
    .map((name) => join(folder, name.slice(0, -'.idx'.length)))
    .sort();
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw new GitError(`the local copy of the repository cannot be read: ${folder}`, { cause: error });
  }
}

/** The beginning of a file, and its size. */
interface PackFile {
  readonly bytes: number;
  /** Shorter if the file is. */
  readonly header: Buffer;
}

/** Reads the beginning of a pack, finished or not. A missing file counts as empty: some are temporary. */
async function readPackHeader(path: string): Promise<PackFile> {
  try {
    const file = await open(path);
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(PACK_HEADER_BYTES), 0, PACK_HEADER_BYTES, 0);
      return { bytes: size, header: buffer.subarray(0, bytesRead) };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return { bytes: 0, header: Buffer.alloc(0) };
    throw error;
  }
}

/** Returns the number of objects in all packs of a bare repository, and their size in bytes. */
export async function countPacked(gitDirectory: string): Promise<{ readonly objects: number; readonly bytes: number }> {
  const packs = await Promise.all(packBases(gitDirectory).map((base) => readPackHeader(`${base}.pack`)));
  const whole = packs.filter(({ header }) => header.length === PACK_HEADER_BYTES);
  return {
    objects: whole.reduce((sum, { header }) => sum + header.readUInt32BE(PACK_HEADER_BYTES - 4), 0),
    bytes: packs.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/**
 * Resolves if every pack of a bare repository, and its index, matches its checksum: a disk may have changed them since
 * git verified their content. Throws GitError otherwise.
 */
export async function verifyChecksums(gitDirectory: string): Promise<void> {
  for (const base of packBases(gitDirectory)) {
    for (const path of [`${base}.pack`, `${base}.idx`]) await verifyChecksum(path);
  }
}

/** Both kinds of file end with the SHA-1 of all bytes before it. */
async function verifyChecksum(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const hash = createHash('sha1');
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let at = 0; at < size - PACK_CHECKSUM_BYTES; ) {
      const { bytesRead } = await file.read(chunk, 0, Math.min(CHUNK_BYTES, size - PACK_CHECKSUM_BYTES - at), at);
      if (bytesRead === 0) break;
      hash.update(chunk.subarray(0, bytesRead));
      at += bytesRead;
    }
    const { bytesRead } = await file.read(chunk, 0, PACK_CHECKSUM_BYTES, Math.max(0, size - PACK_CHECKSUM_BYTES));
    if (!hash.digest().equals(chunk.subarray(0, bytesRead))) {
      throw new GitError(`${path} does not match its own checksum`);
    }
  } finally {
    await file.close();
  }
}

/**
 * Returns true if a pack has an object, by its index of version 2, in which git has noted every object of the pack. See
 * gitformat-pack.
 */
export async function packHas(base: string, oid: string): Promise<boolean> {
  const wanted = Buffer.from(oid, 'hex');
  const first = wanted[0] ?? 0;
  const file = await open(`${base}.idx`, 'r');
  try {
    const counts = Buffer.alloc(FANOUT_BYTES);
    await file.read(counts, 0, FANOUT_BYTES, INDEX_HEADER_BYTES);
    const from = first === 0 ? 0 : counts.readUInt32BE((first - 1) * WORD_BYTES);
    const ids = Buffer.alloc((counts.readUInt32BE(first * WORD_BYTES) - from) * OID_BYTES);
    await file.read(ids, 0, ids.length, INDEX_HEADER_BYTES + FANOUT_BYTES + from * OID_BYTES);
    for (let at = 0; at < ids.length; at += OID_BYTES) {
      if (wanted.equals(ids.subarray(at, at + OID_BYTES))) return true;
    }
    return false;
  } finally {
    await file.close();
  }
}
