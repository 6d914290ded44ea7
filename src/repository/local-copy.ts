// Manages the bare repository with the fetched objects. It is only a cache: packs are added whole and verified, and in
// doubt it is replaced by a new one. One process uses a directory at a time.
import { existsSync, renameSync } from 'node:fs';
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { reasonOf } from '../base/wording.ts';
import { FOLLOWED_REF, initRepository, PRIVATE_DIRECTORY, PRIVATE_FILE } from './git/bare-repository.ts';
import { isOid } from './git/git-object.ts';
import { PACK_CHECKSUM_BYTES, packBases } from './git/pack-files.ts';
import { SourceError } from './source.ts';

/** What the system says of a disk that takes nothing more, and git after it. */
const FULL = /No space left on device|Disk quota exceeded|Read-only file system|\b(?:ENOSPC|EDQUOT|EROFS)\b.*/i;

/** Returns true for the error of a disk that is full or read-only: what is on it is intact. */
export function isFull(error: unknown): boolean {
  return FULL.test(reasonOf(error));
}

/** Returns the error of work in the directory of the local copy: where that could not be written, one that says so. */
export function copyFailure(folder: string, error: unknown): unknown {
  const isInFolder = error instanceof Error && 'path' in error && String(error.path).startsWith(folder);
  if (!isInFolder && !isFull(error)) return error;
  const reason = isInFolder ? reasonOf(error) : FULL.exec(reasonOf(error))?.[0];
  const advice = 'Free space on that disk or repair it; it is tried again';
  return new SourceError(`the local copy of the repository in ${folder} cannot be written: ${reason}. ${advice}`, {
    cause: error,
  });
}

/** Returns the path of the local copy in the cache directory. */
export function copyIn(folder: string): string {
  return join(folder, 'repository.git');
}

/** Returns the head that was fetched last, or null if there is no copy yet or its ref is damaged. */
export async function readFollowed(gitDirectory: string): Promise<string | null> {
  try {
    const oid = (await readFile(join(gitDirectory, FOLLOWED_REF), 'utf8')).trim();
    return isOid(oid) ? oid : null;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Records a head whose objects are all in the copy. Durable once it resolves. */
export async function writeFollowed(gitDirectory: string, oid: string): Promise<void> {
  const path = join(gitDirectory, FOLLOWED_REF);
  const written = join(gitDirectory, 'followed.new');
  await writeDurably(written, `${oid}\n`);
  await rename(written, path);
  await syncPath(dirname(path));
}

/** Moves verified packs from a quarantine into the copy, and then records their head. Durable once it resolves. */
export async function extendCopy(gitDirectory: string, quarantine: string, head: string): Promise<void> {
  await movePacks(gitDirectory, quarantine);
  await writeFollowed(gitDirectory, head);
}

/** Moves verified packs from a quarantine into the copy, where nothing refers to them yet. Durable once it resolves. */
export async function movePacks(gitDirectory: string, quarantine: string): Promise<void> {
  const folder = join(gitDirectory, 'objects', 'pack');
  await mkdir(folder, PRIVATE_DIRECTORY);
  for (const base of packBases(quarantine)) {
    // The index last: git ignores a pack without an index, and reports an index without its pack as damage.
    for (const ending of ['.pack', '.idx']) {
      await chmod(`${base}${ending}`, PRIVATE_FILE.mode);
      await syncPath(`${base}${ending}`);
      await rename(`${base}${ending}`, join(folder, `${basename(base)}${ending}`));
    }
  }
  await syncPath(folder);
}

/** A pack that was made here, its index, and the head to which it extends the copy. */
interface OwnPack {
  readonly pack: Uint8Array;
  readonly index: Uint8Array;
  readonly head: string;
}

/** Adds a pack to the copy, which has all objects that its own refer to, and then records its head. Durable once it resolves. */
export async function addPack(gitDirectory: string, { pack, index, head }: OwnPack): Promise<void> {
  const folder = join(gitDirectory, 'objects', 'pack');
  const base = join(folder, `pack-${Buffer.from(pack.subarray(-PACK_CHECKSUM_BYTES)).toString('hex')}`);
  // The index last, as in movePacks. What a crash leaves must not end like a pack: it would count as one, and as damage.
  const written = join(folder, 'tmp_own');
  for (const [ending, bytes] of [
    ['.pack', pack],
    ['.idx', index],
  ] as const) {
    await writeDurably(written, bytes);
    await rename(written, `${base}${ending}`);
  }
  await syncPath(folder);
  await writeFollowed(gitDirectory, head);
}

async function writeDurably(path: string, bytes: Uint8Array | string): Promise<void> {
  const file = await open(path, 'w', PRIVATE_FILE.mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Replaces the copy in `folder`, if any, by a new one made of verified packs only. */
export async function replaceCopy(folder: string, quarantine: string, head: string): Promise<void> {
  const copy = copyIn(folder);
  const fresh = join(folder, 'fresh.git');
  const old = join(folder, 'old.git');
  await Promise.all([fresh, old].map((path) => rm(path, { recursive: true, force: true })));
  await initRepository(fresh);
  await extendCopy(fresh, quarantine, head);
  // Synchronous, so that no other code in this process finds the copy missing.
  if (existsSync(copy)) renameSync(copy, old);
  renameSync(fresh, copy);
  await syncPath(folder);
  await rm(old, { recursive: true, force: true });
}

/** Waits until a file, or the names in a directory, are durable. */
async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
