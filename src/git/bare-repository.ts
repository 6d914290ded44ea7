// The bare repositories that Treeline makes: quarantines and the local copy. Plain files, which git takes for a repository,
// and which only their owner may read.
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Modes of what Treeline keeps for itself: the local copy holds what only those may read who may read the repository. Given
 * with each file, for the umask of this process is that of the hooks of a local repository, too.
 */
export const PRIVATE_FILE = { mode: 0o600 } as const;
export const PRIVATE_DIRECTORY = { mode: 0o700, recursive: true } as const;

/** The one branch of every repository that Treeline makes: it need not be able to hold the followed branch's name. */
export const FOLLOWED_REF = 'refs/heads/followed';

const CONFIG = '[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n';

/** Another repository whose objects count as present. */
export interface Lender {
  readonly gitDirectory: string;
  /** A commit of it, which the new repository begins with. */
  readonly oid: string;
}

/** Makes an empty bare repository at `gitDirectory`, whose HEAD is {@link FOLLOWED_REF}. */
export async function initRepository(gitDirectory: string, lender: Lender | null = null): Promise<void> {
  await mkdir(join(gitDirectory, 'objects', 'pack'), PRIVATE_DIRECTORY);
  await mkdir(join(gitDirectory, dirname(FOLLOWED_REF)), PRIVATE_DIRECTORY);
  await writeFile(join(gitDirectory, 'config'), CONFIG, PRIVATE_FILE);
  await writeFile(join(gitDirectory, 'HEAD'), `ref: ${FOLLOWED_REF}\n`, PRIVATE_FILE);
  if (lender === null) return;
  await mkdir(join(gitDirectory, 'objects', 'info'), PRIVATE_DIRECTORY);
  await writeFile(
    join(gitDirectory, 'objects', 'info', 'alternates'),
    `${join(lender.gitDirectory, 'objects')}\n`,
    PRIVATE_FILE,
  );
  await writeFile(join(gitDirectory, FOLLOWED_REF), `${lender.oid}\n`, PRIVATE_FILE);
}

/** Makes a directory that only its owner may enter, with those above it; closes one that is there to everybody else. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, PRIVATE_DIRECTORY);
  await chmod(path, PRIVATE_DIRECTORY.mode);
}
