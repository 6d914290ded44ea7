// Makes one file what it should be: content, mode and owner, at once or not at all. It follows no link at the path
// itself. The directory is trusted: who may write there may replace the file at any time.
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { whyUnusable } from '../../base/wording.ts';
import { syncDirectory } from '../../store/files.ts';
import type { ManagedPlace } from './load-render-settings.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const RIGHTS = 0o7777;

/** A file cannot be read or made. The message names it and says what to do. */
export class ManagedFileError extends Error {
  override readonly name = 'ManagedFileError';
}

/**
 * Returns whether a file is as it should be. Throws ManagedFileError where something else is at its path, such as a
 * link.
 */
export async function isAsWanted(place: ManagedPlace, bytes: Uint8Array): Promise<boolean> {
  const { path, mode, owner } = place;
  // Not to wait for who writes into a pipe.
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error) => absent(path, error));
  if (handle === undefined) return false;
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new ManagedFileError(`${path} is no regular file: remove it, or name another path`);
    const isOwned = owner === null || (found.uid === owner[0] && found.gid === owner[1]);
    if (!isOwned || (found.mode & RIGHTS) !== mode || found.size !== bytes.length) return false;
    return (await handle.readFile()).equals(bytes);
  } catch (error) {
    if (error instanceof ManagedFileError) throw error;
    throw new ManagedFileError(`${path} cannot be read: ${whyUnusable(error)}`, { cause: error });
  } finally {
    await handle.close();
  }
}

/**
 * Replaces a file, durable, or leaves it as it was and throws ManagedFileError. Nobody ever sees a part of it, or other
 * rights.
 */
export async function writeManagedFile(place: ManagedPlace, bytes: Uint8Array): Promise<void> {
  const { path, mode, owner } = place;
  // Of one name, so that what a lost process has left is removed by the next.
  const temporary = join(dirname(path), `.${basename(path)}.treeline-new`);
  try {
    await rm(temporary, { force: true });
    const handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      await handle.writeFile(bytes);
      if (owner !== null) await handle.chown(...owner);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw new ManagedFileError(`${path} cannot be written: ${whyUnusable(error)}`, { cause: error });
  }
}

/** Returns nothing where the file can be replaced unseen. */
function absent(path: string, error: NodeJS.ErrnoException): undefined {
  // A file that may not be read is another's.
  if (error.code === 'ENOENT' || error.code === 'EACCES') return undefined;
  const why =
    error.code === 'ELOOP'
      ? 'it is a symbolic link, which may lead anywhere: remove it, or name what it leads to'
      : whyUnusable(error);
  throw new ManagedFileError(`${path} is not replaced: ${why}`, { cause: error });
}
