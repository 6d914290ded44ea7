// Derives a working directory as the controller would after a commit of it.
import { wantsBlob } from '../catalog/load-catalog.ts';
import { type Derivation, derive } from '../derive.ts';
import { readDirectory } from '../source/directory-snapshot.ts';
import { SourceError } from '../source/source.ts';
import { expecting } from './command-failure.ts';
import { requireFolder } from './user-directory.ts';

/** Returns what a directory derives to, with all its problems. Throws CommandFailure where it cannot be read. */
export async function deriveDirectory(directory: string): Promise<Derivation> {
  await requireFolder(directory);
  const time = `${new Date().toISOString().slice(0, 19)}Z`;
  return derive(await expecting([SourceError], () => readDirectory(directory, { time, wants: wantsBlob() })));
}
