// Decides whether packs that arrived may join the local copy. The rule that makes one look enough: a copy in which every
// object that is referred to is there stays so when a pack joins whose own references are all in the pack or in the copy.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { referencesOf } from './git-object.ts';
import { type ObjectStore, packBases } from './object-store.ts';
import { SourceError } from './source.ts';

const CHECKSUM_BYTES = 20;
const CHUNK_BYTES = 1024 * 1024;
/** Other work gets its turn after so many objects. */
const OBJECTS_A_TURN = 500;

export interface Verification {
  readonly arrived: ObjectStore;
  /** What is here already, and whole. */
  readonly known: ObjectStore;
  /** Ends it early, with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Resolves when every object of `arrived` hashes to its id and refers only to objects in `arrived` or `known`, and
 * `head` is a commit among them. Throws SourceError otherwise.
 */
export async function verifyObjects(head: string, { arrived, known, signal }: Verification): Promise<void> {
  for (const pack of arrived.packs) {
    if (pack.index.count !== pack.countInHeader()) throw new SourceError('the pack lacks objects that it builds on');
  }
  const present = new Set<string>();
  for (const pack of arrived.packs) for (const oid of pack.index.oids()) present.add(oid);
  let looked = 0;
  for (const oid of present) {
    for (const reference of referencesOf(oid, arrived.read(oid))) {
      if (!present.has(reference) && !known.has(reference)) {
        throw new SourceError(`object ${reference} is missing, which ${oid} refers to`);
      }
    }
    if (++looked % OBJECTS_A_TURN === 0) {
      await setImmediate();
      signal.throwIfAborted();
    }
  }
  const holder = present.has(head) ? arrived : known;
  if (!holder.has(head)) throw new SourceError(`commit ${head} itself did not arrive`);
  holder.readCommit(head);
}

/** Resolves when every pack of a bare repository, and its index, is as it was written. Throws SourceError otherwise. */
export async function verifyChecksums(gitDirectory: string): Promise<void> {
  for (const base of packBases(gitDirectory)) {
    for (const path of [`${base}.pack`, `${base}.idx`]) await verifyChecksum(path);
  }
}

/** Both kinds of file end with the SHA-1 of everything before. */
async function verifyChecksum(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const hash = createHash('sha1');
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let at = 0; at < size - CHECKSUM_BYTES; ) {
      const { bytesRead } = await file.read(chunk, 0, Math.min(CHUNK_BYTES, size - CHECKSUM_BYTES - at), at);
      if (bytesRead === 0) break;
      hash.update(chunk.subarray(0, bytesRead));
      at += bytesRead;
    }
    const { bytesRead } = await file.read(chunk, 0, CHECKSUM_BYTES, Math.max(0, size - CHECKSUM_BYTES));
    if (!hash.digest().equals(chunk.subarray(0, bytesRead))) {
      throw new SourceError(`${path} does not match its own checksum`);
    }
  } finally {
    await file.close();
  }
}
