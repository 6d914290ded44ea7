// Fetches into a separate repository, where git verifies all objects before they are added to the local copy: if the
// remote, the network or a disk fails, the copy is unchanged.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Deadline, withDeadline } from './deadline.ts';
import type { Lender } from './git/bare-repository.ts';
import { makePrivateDirectory } from './git/bare-repository.ts';
import type { ParsedCommit } from './git/git-object.ts';
import { notWhole, type PackLimits } from './git/index-pack.ts';
import { DamagedCopyError, ObjectReader } from './git/object-reader.ts';
import { countPacked, packBases, packHas } from './git/pack-files.ts';
import { copyIn, extendCopy, movePacks, readFollowed, replaceCopy, writeFollowed } from './local-copy.ts';
import type { SmartRemote } from './remotes/smart-remote.ts';

interface QuarantinedFetch extends Deadline, PackLimits {
  /** The directory of the local copy. */
  readonly folder: string;
  /** Reads the local copy. */
  readonly objects: ObjectReader;
  readonly remote: SmartRemote;
  /** The head of the branch, as the remote has just named it. */
  readonly head: string;
  /** Fetch everything, and replace the existing copy. */
  readonly anew: boolean;
  /** A copy with more packs is replaced, and so is one that would have more objects or bytes than one fetch may bring. */
  readonly packsMax: number;
}

const PREFIX = 'quarantine-';
/** Of repositories to push from, which are not needed any more. */
const FORMER_PREFIX = 'push-';
const REMOVALS_MAX = 5;

/**
 * Returns the branch's head commit, once it and all objects that it refers to are verified, in the local copy, and
 * durable. Throws SourceError if the remote fails or its answer is incomplete; the copy is then unchanged.
 */
export async function fetchVerified(options: QuarantinedFetch): Promise<ParsedCommit> {
  const { folder, remote, head } = options;
  await removeQuarantines(folder);
  const quarantine = await mkdtemp(join(folder, PREFIX));
  const copy = copyIn(folder);
  try {
    // The copy may be older than this rule.
    const hasCopy = existsSync(copy);
    if (hasCopy) await makePrivateDirectory(copy);
    const lender = options.anew ? null : await findLender(copy, options);
    // Without a copy, nothing can be served that the first fetch would hold up.
    const order = { quarantine, head, lender, givesWay: hasCopy };
    await withDeadline(options, (signal) => remote.fetchInto({ ...order, signal }));
    // Whatever is taken piece by piece could be taken whole, so that a lost copy can be replaced.
    if (lender !== null && (await isBeyond([copy, quarantine], options))) {
      return await fetchVerified({ ...options, anew: true });
    }
    if (lender !== null && (await hasArrived(head, quarantine))) {
      await movePacks(copy, quarantine);
      const newest = await options.objects.findCommit(head);
      if (newest === undefined) throw notWhole(remote.name, `${head} is no commit`);
      await writeFollowed(copy, head);
      return newest;
    }
    const commit = await requireCommit(head, { remote, quarantine });
    if (lender === null) {
      await replaceCopy(folder, quarantine, head);
      // The replaced copy is still open.
      options.objects.close();
    } else await extendCopy(copy, quarantine, head);
    return commit;
  } finally {
    // An aborted remote may still be writing.
    await rm(quarantine, { recursive: true, force: true, maxRetries: REMOVALS_MAX });
  }
}

/** Creates the directory, and removes the quarantines of killed processes and aborted remotes, and what former versions left. */
async function removeQuarantines(folder: string): Promise<void> {
  await makePrivateDirectory(folder);
  const names = await readdir(folder);
  const stale = names.filter((name) => name.startsWith(PREFIX) || name.startsWith(FORMER_PREFIX));
  await Promise.all(stale.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** Returns the copy and the commit from which it can be extended, or null if it has to be replaced. */
async function findLender(copy: string, { objects, packsMax, ...limits }: QuarantinedFetch): Promise<Lender | null> {
  const oid = await readFollowed(copy);
  if (oid === null || packBases(copy).length >= packsMax) return null;
  try {
    await objects.readCommit(oid);
    return (await isBeyond([copy], limits)) ? null : { gitDirectory: copy, oid };
  } catch (error) {
    if (error instanceof DamagedCopyError) return null;
    throw error;
  }
}

/** Returns true if the packs of these repositories have more objects or bytes together than one fetch may bring. */
async function isBeyond(gitDirectories: readonly string[], { objectsMax, packBytesMax }: PackLimits): Promise<boolean> {
  const packed = await Promise.all(gitDirectories.map(countPacked));
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
  return sum(packed.map(({ objects }) => objects)) > objectsMax || sum(packed.map(({ bytes }) => bytes)) > packBytesMax;
}

/** Returns true if the head is among the objects that were sent. It is read in the copy, by a git that runs already. */
async function hasArrived(head: string, quarantine: string): Promise<boolean> {
  const found = await Promise.all(packBases(quarantine).map((base) => packHas(base, head)));
  return found.includes(true);
}

/** All objects are complete by now, but the remote may have sent others than requested. */
async function requireCommit(
  head: string,
  { remote, quarantine }: { readonly remote: SmartRemote; readonly quarantine: string },
): Promise<ParsedCommit> {
  // Objects borrowed by the quarantine count as its own.
  const objects = new ObjectReader(quarantine);
  try {
    const commit = await objects.findCommit(head);
    if (commit === undefined) throw notWhole(remote.name, `commit ${head} itself did not arrive`);
    return commit;
  } finally {
    objects.close();
  }
}
