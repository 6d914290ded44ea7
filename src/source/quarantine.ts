// Fetches into a repository apart, verifies what came, and only then lets it join the local copy: whatever a remote, the
// network or a disk does, the copy stays as it was or becomes right.
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Deadline, withDeadline } from './deadline.ts';
import { copyIn, extendCopy, readFollowed, replaceCopy } from './local-copy.ts';
import { DamagedCopyError, ObjectStore, packBases, withObjects } from './object-store.ts';
import type { Have, Remote } from './remote.ts';
import { SourceError } from './source.ts';
import { verifyChecksums, verifyObjects } from './verify-packs.ts';

export interface QuarantinedFetch extends Deadline {
  /** The folder of the local copy. */
  readonly folder: string;
  readonly remote: Remote;
  readonly branch: string;
  /** Fetch everything, and replace the copy that is there. */
  readonly anew: boolean;
  /** A copy of more packs is replaced. */
  readonly packsMax: number;
}

const PREFIX = 'quarantine-';
const REMOVALS_MAX = 5;
const NOTHING = new ObjectStore([]);

/**
 * Returns the branch's head, once it and everything that it refers to is verified, in the local copy, and durable.
 * Throws SourceError where the remote fails or what it sent is not whole; the copy is then as before.
 */
export async function fetchVerified(options: QuarantinedFetch): Promise<string> {
  const { folder, remote, branch } = options;
  await removeQuarantines(folder);
  const quarantine = await mkdtemp(join(folder, PREFIX));
  const copy = copyIn(folder);
  try {
    const have = options.anew ? null : await haveOf(copy, options.packsMax);
    const head = await withDeadline(options, (signal) => remote.fetchInto({ quarantine, branch, have, signal }));
    await verified(options, async () => {
      await verifyChecksums(quarantine);
      await withObjects(quarantine, (arrived) =>
        have === null
          ? verifyObjects(head, { arrived, known: NOTHING, signal: options.signal })
          : withObjects(copy, (known) => verifyObjects(head, { arrived, known, signal: options.signal })),
      );
    });
    if (have === null) await replaceCopy(folder, quarantine, head);
    else await extendCopy(copy, quarantine, head);
    return head;
  } finally {
    // A remote that was given up may still be writing.
    await rm(quarantine, { recursive: true, force: true, maxRetries: REMOVALS_MAX });
  }
}

/** Makes the folder, and removes quarantines that a killed process, or a remote that was given up, left behind. */
async function removeQuarantines(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  const stale = names.filter((name) => name.startsWith(PREFIX));
  await Promise.all(stale.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** Returns the commit from which on the copy can be extended, or null where it has to be made anew. */
async function haveOf(copy: string, packsMax: number): Promise<Have | null> {
  const oid = await readFollowed(copy);
  if (oid === null || packBases(copy).length >= packsMax) return null;
  try {
    return await withObjects(copy, async (objects) => ({ oid, bytes: objects.read(oid, 'commit').bytes }));
  } catch (error) {
    if (error instanceof DamagedCopyError) return null;
    throw error;
  }
}

async function verified({ remote, signal }: QuarantinedFetch, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    throw new SourceError(`what "${remote.name}" sent is not whole, and was not taken: ${reason}`, { cause: error });
  }
}
