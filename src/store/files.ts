// Creates durable directories that only the controller's user may enter.
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StoreError } from './store-error.ts';

const DIRECTORY_MODE = 0o700;
/** The mode bits of users other than the owner. */
const OTHERS = 0o077;

/**
 * Creates a durable directory that only its owner may enter, and its parents. Throws StoreError if it exists and other
 * users may enter it: they may have read or changed its files, so an operator has to know.
 */
export async function makeDirectory(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: DIRECTORY_MODE });
  const mode = (await stat(directory)).mode & 0o777;
  if ((mode & OTHERS) !== 0) {
    throw new StoreError(
      `The directory ${directory} has the mode ${mode.toString(8).padStart(4, '0')}: others may read what Treeline keeps in it, or ` +
        `change it. See who could, then run: chmod 0700 ${directory}. If that is not possible, as on a volume that a group owns, ` +
        'name a directory below it: Treeline makes it with the right mode.',
    );
  }
  if (first === undefined) return;
  for (let made = directory; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made));
}

/** Resolves when all names in the directory would survive a power cut. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
