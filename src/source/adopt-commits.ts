// Adds commits that this process has made and pushed to the local copy, so that they are not fetched back. See
// docs/decisions/0026-pushing.md.
import type { ParsedCommit } from '../git/git-object.ts';
import type { ObjectReader } from '../git/object-reader.ts';
import { packBases } from '../git/pack-files.ts';
import { addPack } from './local-copy.ts';
import type { PreparedCommits } from './publisher.ts';

/**
 * Returns the last of the commits, once all of them are in the local copy and durable. Returns undefined, and adds
 * nothing, where the copy lacks their base or has `packsMax` packs: then they have to be fetched. Throws like
 * {@link ObjectReader.readCommit}.
 */
export async function adoptCommits(
  objects: ObjectReader,
  { base, commits, pack, index }: PreparedCommits,
  packsMax: number,
): Promise<ParsedCommit | undefined> {
  const head = commits.at(-1);
  if (head === undefined || packBases(objects.gitDirectory).length >= packsMax) return undefined;
  // The new objects refer to those of the base, and the copy holds whole histories.
  if ((await objects.findCommit(base)) === undefined) return undefined;
  await addPack(objects.gitDirectory, { pack, index, head });
  return await objects.readCommit(head);
}
