// Writes content, mode and owner of one file, atomically. It does not follow a link at the path itself. It trusts the
// directory: whoever may write there may replace the file at any time.
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { whyUnusable } from '../../base/wording.ts';
import { syncDirectory } from '../../store/files.ts';
import type { ManagedPlace } from './load-render-settings.ts';

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
const RIGHTS = 0o7777;

/** A file cannot be read or written. The message contains its path and the advice. */
export class ManagedFileError extends Error {
  override readonly name = 'ManagedFileError';
}

/**
 * Resolves with whether a file has the wanted content, mode and owner. Throws ManagedFileError if something else, such
 * as a link, is at its path.
 */
export async function isAsWanted(place: ManagedPlace, bytes: Uint8Array): Promise<boolean> {
  const { path, mode, owner } = place;
  // O_NONBLOCK, because opening a named pipe would wait for a writer.
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error) => absent(path, error));
  if (handle === undefined) return false;
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new ManagedFileError(`${path} is not a regular file: remove it, or use another path`);
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
 * Replaces a file durably, or leaves it unchanged and throws ManagedFileError. No process ever sees a partial file or
 * wrong permissions.
 */
export async function writeManagedFile(place: ManagedPlace, bytes: Uint8Array): Promise<void> {
  const { path, mode, owner } = place;
  // A constant name, so that the next process replaces the leftover of a killed one.
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

/** Returns undefined if the file can be replaced without reading it. */
function absent(path: string, error: NodeJS.ErrnoException): undefined {
  // An unreadable file belongs to another user and gets replaced.
  if (error.code === 'ENOENT' || error.code === 'EACCES') return undefined;
  const why =
    error.code === 'ELOOP'
      ? 'it is a symbolic link, which may lead anywhere: remove it, or use its target'
      : whyUnusable(error);
  throw new ManagedFileError(`${path} is not replaced: ${why}`, { cause: error });
}
