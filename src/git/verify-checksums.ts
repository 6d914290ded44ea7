// Tells whether the packs of the local copy are as they were written, once a process: a disk may have changed them since
// git verified what is in them. Looks at no object.
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { GitError } from './git-error.ts';
import { packBases } from './object-store.ts';

const CHECKSUM_BYTES = 20;
const CHUNK_BYTES = 1024 * 1024;

/** Resolves when every pack of a bare repository, and its index, is as it was written. Throws GitError otherwise. */
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
      throw new GitError(`${path} does not match its own checksum`);
    }
  } finally {
    await file.close();
  }
}
