// The local copy as the source of a branch knows it: whether it is intact, which head it has, and the commits of this process
// that it gets without a fetch.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { RepeatedErrors } from '../base/throttles.ts';
import type { ParsedCommit } from './git/git-object.ts';
import type { PackLimits } from './git/index-pack.ts';
import { DamagedCopyError, ObjectReader } from './git/object-reader.ts';
import { countPacked, PACK_HEADER_BYTES, packBases, verifyChecksums, WORD_BYTES } from './git/pack-files.ts';
import { addPack, copyFailure, copyIn, isFull, readFollowed, writeFollowed } from './local-copy.ts';
import type { PreparedCommits } from './publisher.ts';
import type { Commit } from './source.ts';

interface FollowedCopyOptions extends PackLimits {
  /** The directory of the local copy. */
  readonly folder: string;
  /** A copy with more packs gets commits by a fetch only, which replaces it. */
  readonly packsMax: number;
  readonly clock: Clock;
  readonly log: Logger | undefined;
}

/** The local copy of a branch. Its methods may not run at the same time as a fetch, except {@link read}. */
export class FollowedCopy {
  readonly path: string;
  readonly objects: ObjectReader;
  /** Git processes of their own, so that nothing which follows commits waits behind what clients ask. */
  readonly #forReaders: ObjectReader;
  readonly #options: FollowedCopyOptions;
  readonly #log: Logger | undefined;
  readonly #errors: RepeatedErrors;
  /** What its packs hold; undefined: to be counted. */
  #packed: { readonly objects: number; readonly bytes: number } | undefined;
  #state: 'unchecked' | 'intact' | 'damaged' = 'unchecked';
  /** The last head that was fetched, adopted or found in the copy. */
  #head: Commit | undefined;
  #offered: PreparedCommits | undefined;

  constructor(options: FollowedCopyOptions) {
    this.path = copyIn(options.folder);
    this.objects = new ObjectReader(this.path);
    this.#forReaders = new ObjectReader(this.path);
    this.#options = options;
    this.#log = options.log;
    this.#errors = new RepeatedErrors(options.clock);
  }

  /** True if it has to be replaced. */
  get isDamaged(): boolean {
    return this.#state === 'damaged';
  }

  /** Keeps commits that are about to be pushed, in place of those before. */
  offer(prepared: PreparedCommits): void {
    this.#offered = prepared;
  }

  /** Returns true if a commit is the last head, or the last of the offered commits. */
  isOwnHead(commit: string): boolean {
    return commit === this.#head?.oid || commit === this.#offered?.commits.at(-1);
  }

  /** Notes that a head was fetched, with everything that it needs. Returns its metadata. */
  fetched(commit: ParsedCommit): Commit {
    this.#state = 'intact';
    this.#packed = undefined;
    this.#head = descriptionOf(commit);
    return this.#head;
  }

  /** Returns the result of `work` on the objects, which clients or the follower asked for. The next fetch repairs damage that it finds. */
  async read<Value>(forReader: boolean, work: (objects: ObjectReader) => Promise<Value>): Promise<Value> {
    try {
      return await work(forReader ? this.#forReaders : this.objects);
    } catch (error) {
      if (error instanceof DamagedCopyError) this.#state = 'damaged';
      throw error;
    }
  }

  /** Ends the git processes that are open for readers. Later questions start new ones. */
  closeForReaders(): void {
    this.#forReaders.close();
  }

  /**
   * Returns the head if it is in an undamaged copy: the branch did not move, or moved back to an older commit. Throws where the
   * disk is full.
   */
  async find(head: string): Promise<Commit | undefined> {
    if (this.#state === 'damaged') return undefined;
    if (this.#state === 'intact' && this.#head?.oid === head) return this.#head;
    try {
      // Once per process; later, hashing every object on read is the stronger check.
      if (this.#state === 'unchecked') await verifyChecksums(this.path);
      this.#state = 'intact';
      const commit = await this.objects.findCommit(head);
      if (commit === undefined) return undefined;
      if ((await readFollowed(this.path)) !== head) await writeFollowed(this.path, head);
      this.#head = descriptionOf(commit);
      return this.#head;
    } catch (error) {
      if (isFull(error)) throw error;
      this.#log?.warn({ err: error }, 'the local copy of the repository is damaged, it is fetched again');
      this.#state = 'damaged';
      return undefined;
    }
  }

  /** Returns the head once it is in the copy, if it is the last of the offered commits. Never throws: a fetch repairs what fails. */
  async adopt(head: string): Promise<Commit | undefined> {
    const offered = this.#offered;
    if (this.#state !== 'intact') return undefined;
    if (this.#head?.oid === head) return this.#head;
    if (offered?.commits.at(-1) !== head) return undefined;
    try {
      const packed = await this.#packedWith(offered);
      if (packed === undefined) return undefined;
      const commit = await this.read(false, (objects) => adoptCommits(objects, offered, this.#options.packsMax));
      if (commit === undefined) return undefined;
      this.#packed = packed;
      // From now on they are in the copy. Where the branch comes back to them, that is news.
      if (this.#offered === offered) this.#offered = undefined;
      this.#head = descriptionOf(commit);
      return this.#head;
    } catch (error) {
      const err = copyFailure(this.#options.folder, error);
      const told = this.#errors.fieldsToLog(err);
      const text = 'commits that were pushed could not be added to the local copy, they are fetched';
      if (told) this.#log?.warn({ err, ...told }, text);
      return undefined;
    }
  }

  /** Returns what the packs would hold with that one; undefined where that is more than one fetch may bring: a fetch decides. */
  async #packedWith({
    pack,
  }: PreparedCommits): Promise<{ readonly objects: number; readonly bytes: number } | undefined> {
    const { objectsMax, packBytesMax } = this.#options;
    this.#packed ??= await countPacked(this.path);
    const objects = this.#packed.objects + Buffer.from(pack).readUInt32BE(PACK_HEADER_BYTES - WORD_BYTES);
    const bytes = this.#packed.bytes + pack.length;
    return objects > objectsMax || bytes > packBytesMax ? undefined : { objects, bytes };
  }
}

/** Returns the metadata of a commit. */
export function descriptionOf({ tree: _, ...description }: ParsedCommit): Commit {
  return description;
}

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
