// The bare repository in which Treeline keeps what it fetched. It is only a cache: packs join it whole and verified, and
// when in doubt it is replaced by a new one. One process works on a folder at a time.
import { existsSync, renameSync } from 'node:fs';
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { FOLLOWED_REF, initRepository, PRIVATE_DIRECTORY, PRIVATE_FILE } from '../git/bare-repository.ts';
import { isOid } from '../git/git-object.ts';
import { packBases } from '../git/pack-files.ts';

/** Returns where in the cache folder the local copy is. */
export function copyIn(folder: string): string {
  return join(folder, 'repository.git');
}

/** Returns the head that was fetched last, or null where there is no copy yet or its ref is damaged. */
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
  const file = await open(written, 'w', PRIVATE_FILE.mode);
  try {
    await file.writeFile(`${oid}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(written, path);
  await syncPath(dirname(path));
}

/** Moves verified packs from a quarantine into the copy, and then records their head. Durable once it resolves. */
export async function extendCopy(gitDirectory: string, quarantine: string, head: string): Promise<void> {
  const folder = join(gitDirectory, 'objects', 'pack');
  await mkdir(folder, PRIVATE_DIRECTORY);
  for (const base of packBases(quarantine)) {
    // The index last: a pack without one is not looked at, an index without its pack is damage.
    for (const ending of ['.pack', '.idx']) {
      await chmod(`${base}${ending}`, PRIVATE_FILE.mode);
      await syncPath(`${base}${ending}`);
      await rename(`${base}${ending}`, join(folder, `${basename(base)}${ending}`));
    }
  }
  await syncPath(folder);
  await writeFollowed(gitDirectory, head);
}

/** Puts a new copy, made of verified packs alone, in the place of the one in `folder`, if there is one. */
export async function replaceCopy(folder: string, quarantine: string, head: string): Promise<void> {
  const copy = copyIn(folder);
  const fresh = join(folder, 'fresh.git');
  const old = join(folder, 'old.git');
  await Promise.all([fresh, old].map((path) => rm(path, { recursive: true, force: true })));
  await initRepository(fresh);
  await extendCopy(fresh, quarantine, head);
  // Without a pause in between, so that nobody in this process ever finds no copy.
  if (existsSync(copy)) renameSync(copy, old);
  renameSync(fresh, copy);
  await syncPath(folder);
  await rm(old, { recursive: true, force: true });
}

/** Waits until a file, or the names in a directory, would survive a power cut. */
async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
