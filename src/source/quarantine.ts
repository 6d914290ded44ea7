// Fetches into a repository apart, where git verifies what comes, and only then lets it join the local copy: whatever a
// remote, the network or a disk does, the copy stays as it was or becomes right.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Lender } from '../git/bare-repository.ts';
import { makePrivateDirectory } from '../git/bare-repository.ts';
import type { ParsedCommit } from '../git/git-object.ts';
import { notWhole, type PackLimits } from '../git/index-pack.ts';
import { DamagedCopyError, ObjectReader } from '../git/object-reader.ts';
import { countPacked, packBases } from '../git/pack-files.ts';
import { type Deadline, withDeadline } from './deadline.ts';
import { copyIn, extendCopy, readFollowed, replaceCopy } from './local-copy.ts';
import type { Branches, Remote } from './remotes/remote.ts';

export interface QuarantinedFetch extends Deadline, PackLimits {
  /** The folder of the local copy. */
  readonly folder: string;
  /** Reads the local copy. */
  readonly objects: ObjectReader;
  readonly remote: Remote;
  /** What the remote has just said of them. */
  readonly branches: Branches;
  readonly branch: string;
  /** Fetch everything, and replace the copy that is there. */
  readonly anew: boolean;
  /** A copy of more packs is replaced, and so is one of more objects or bytes than one fetch may bring. */
  readonly packsMax: number;
}

const PREFIX = 'quarantine-';
const REMOVALS_MAX = 5;

/**
 * Returns the branch's head as it describes itself, once it and everything that it refers to is verified, in the local copy, and durable.
 * Throws SourceError where the remote fails or what it sent is not whole; the copy is then as before.
 */
export async function fetchVerified(options: QuarantinedFetch): Promise<ParsedCommit> {
  const { folder, remote, branches, branch } = options;
  await removeQuarantines(folder);
  const quarantine = await mkdtemp(join(folder, PREFIX));
  const copy = copyIn(folder);
  try {
    // One of before this rule, perhaps.
    if (existsSync(copy)) await makePrivateDirectory(copy);
    const lender = options.anew ? null : await lenderOf(copy, options);
    const head = await withDeadline(options, (signal) => branches.fetchInto({ quarantine, branch, lender, signal }));
    const commit = await requireCommit(head, { remote, quarantine });
    if (lender === null) {
      await replaceCopy(folder, quarantine, head);
      // The one that was there is still open.
      options.objects.close();
    } else await extendCopy(copy, quarantine, head);
    return commit;
  } finally {
    // A remote that was given up may still be writing.
    await rm(quarantine, { recursive: true, force: true, maxRetries: REMOVALS_MAX });
  }
}

/** Makes the folder, and removes quarantines that a killed process, or a remote that was given up, left behind. */
async function removeQuarantines(folder: string): Promise<void> {
  await makePrivateDirectory(folder);
  const names = await readdir(folder);
  const stale = names.filter((name) => name.startsWith(PREFIX));
  await Promise.all(stale.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** Returns the copy with the commit from which on it can be extended, or null where it has to be made anew. */
async function lenderOf(
  copy: string,
  { objects, packsMax, objectsMax, packBytesMax }: QuarantinedFetch,
): Promise<Lender | null> {
  const oid = await readFollowed(copy);
  if (oid === null || packBases(copy).length >= packsMax) return null;
  try {
    await objects.readCommit(oid);
    const packed = await countPacked(copy);
    // A fetch adds as much again at most, so that the copy has an end whatever is pushed.
    return packed.objects > objectsMax || packed.bytes > packBytesMax ? null : { gitDirectory: copy, oid };
  } catch (error) {
    if (error instanceof DamagedCopyError) return null;
    throw error;
  }
}

/** Every object is whole by now; what a remote sent may all the same be something else than was asked for. */
async function requireCommit(
  head: string,
  { remote, quarantine }: { readonly remote: Remote; readonly quarantine: string },
): Promise<ParsedCommit> {
  // What the quarantine borrows counts as its own.
  const objects = new ObjectReader(quarantine);
  try {
    const commit = await objects.findCommit(head);
    if (commit === undefined) throw notWhole(remote.name, `commit ${head} itself did not arrive`);
    return commit;
  } finally {
    objects.close();
  }
}
