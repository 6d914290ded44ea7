// Modes of what Treeline keeps for itself: the local copy holds what only those may read who may read the repository. Given
// with each file, for the umask of this process is that of the hooks of a local repository, too.
import { chmod, mkdir } from 'node:fs/promises';

export const PRIVATE_FILE = { mode: 0o600 } as const;
export const PRIVATE_DIRECTORY = { mode: 0o700, recursive: true } as const;

/** Makes a directory that only its owner may enter, with those above it; closes one that is there to everybody else. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, PRIVATE_DIRECTORY);
  await chmod(path, PRIVATE_DIRECTORY.mode);
}
