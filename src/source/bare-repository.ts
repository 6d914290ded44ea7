// The bare repositories that Treeline makes: quarantines and the local copy. Plain files, which git and isomorphic-git
// both take for a repository.
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import type { Have } from './remote.ts';

/** The one branch of every repository that Treeline makes: it need not be able to hold the followed branch's name. */
export const FOLLOWED_REF = 'refs/heads/followed';

const CONFIG = '[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n';

/** Makes an empty bare repository at `gitDirectory`, whose HEAD is {@link FOLLOWED_REF}. */
export async function initRepository(gitDirectory: string): Promise<void> {
  await mkdir(join(gitDirectory, 'objects', 'pack'), { recursive: true });
  await mkdir(join(gitDirectory, dirname(FOLLOWED_REF)), { recursive: true });
  await writeFile(join(gitDirectory, 'config'), CONFIG);
  await writeFile(join(gitDirectory, 'HEAD'), `ref: ${FOLLOWED_REF}\n`);
}

/** Puts one commit, without what it refers to, under {@link FOLLOWED_REF}: a fetch tells the remote that it is here. */
export async function writeHave(gitDirectory: string, { oid, bytes }: Have): Promise<void> {
  const path = join(gitDirectory, 'objects', oid.slice(0, 2), oid.slice(2));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, deflateSync(Buffer.concat([Buffer.from(`commit ${bytes.length}\0`), bytes])));
  await writeFile(join(gitDirectory, FOLLOWED_REF), `${oid}\n`);
}
