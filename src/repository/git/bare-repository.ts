// Creates the bare repositories of Treeline: quarantines and the local copy. Plain files in git's layout, readable by
// their owner only.
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Modes of Treeline's own files: only readers of the repository may read the local copy. Set on each file, since the
 * umask of this process also applies to the hooks of a local repository.
 */
export const PRIVATE_FILE = { mode: 0o600 } as const;
/** The options of `mkdir` for a directory that only its owner may read. */
export const PRIVATE_DIRECTORY = { mode: 0o700, recursive: true } as const;

/**
 * The one branch of every repository that Treeline creates: the followed branch's name may be impossible as a file
 * name.
 */
export const FOLLOWED_REF = 'refs/heads/followed';

const CONFIG = '[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n';

/** Another repository whose objects count as present. */
export interface Lender {
  readonly gitDirectory: string;
  /** A commit of it, at which the new repository starts. */
  readonly oid: string;
}

/** Creates an empty bare repository at `gitDirectory`, whose HEAD is {@link FOLLOWED_REF}. */
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

/** Creates a directory that only its owner may enter, with its parents; restricts an existing one in the same way. */
export async function makePrivateDirectory(path: string): Promise<void> {
  await mkdir(path, PRIVATE_DIRECTORY);
  await chmod(path, PRIVATE_DIRECTORY.mode);
}
