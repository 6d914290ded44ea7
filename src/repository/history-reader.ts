// Reads the commits of one repository with git: their files, metadata and ancestry. Used for the followed branch and
// for repositories of users.
import { breatheBy } from '../base/breathe.ts';
import { systemClock } from '../base/clock.ts';
import { isCommitId } from '../model/names.ts';
import type { FileMode, Snapshot, SnapshotFile } from '../model/snapshot.ts';
import { decodePath } from './git-object.ts';
import { type DamagedObjectError, ObjectReader } from './object-reader.ts';
import { directorySteps } from './repository-url.ts';
import { ContentError, type Git, type GitError, GitFailure, type RunOptions } from './run-git.ts';
import type { BlobFilter, Commit, LastFileChanges, SourceLimits } from './source.ts';

const breathe = breatheBy(systemClock);

interface ReaderOptions {
  readonly git: Git;
  /** The directory of the layout in the repository; `.` is its root. */
  readonly directory: string;
  readonly limits: SourceLimits;
}

interface Listing {
  readonly files: Map<string, SnapshotFile>;
  /** The sizes of blobs in bytes, by object id. */
  readonly sizes: Map<string, number>;
}

/** Enough for 100,000 files with paths of about 250 characters. */
const LISTING_BYTES_MAX = 32 * 1024 * 1024;
const OID_LINE_BYTES = 65;
/** The number of blobs in one batch of requests. */
const REQUESTS_MAX = 1000;
/** Commits in a line are compared without a process: a batch of writes has at most this many. */
const LINE_MAX = 50;
/** The number of concurrent searches for last changes. */
const SEARCHES_MAX = 4;
const TAB = 0x09;

/** Reads commits. Its methods may be called concurrently. */
export abstract class HistoryReader {
  protected objects: ObjectReader;
  /** The path from the root of the repository to the layout: '' or a path with a trailing slash. */
  readonly prefix: string;
  readonly #directory: string;
  readonly #limits: SourceLimits;
  /** The last listing, because the followed commit is read several times. */
  #last: { readonly key: string; readonly listing: Promise<Listing> } | undefined;

  constructor({ git, directory, limits }: ReaderOptions) {
    this.prefix = prefixOf(directory);
    this.#directory = directory;
    this.#limits = limits;
    this.objects = this.readerOf(git);
  }

  /** Returns the error for a commit that the repository does not have. */
  protected abstract missing(commit: string): GitError;

  /** Returns the error for a damaged repository. */
  protected abstract explainDamage(error: DamagedObjectError): GitError;

  protected readerOf(git: Git): ObjectReader {
    return new ObjectReader(git, (error) => this.explainDamage(error));
  }

  has(commit: string): Promise<boolean> {
    return this.objects.hasCommit(commit);
  }

  async describe(commit: string): Promise<Commit> {
    const found = isCommitId(commit) ? await this.objects.findCommit(commit) : undefined;
    if (found === undefined) throw this.missing(commit);
    return found;
  }

  /** Returns the files of a commit; see Source. */
  async snapshot(commit: string, wants: BlobFilter, directory = this.#directory): Promise<Snapshot> {
    const { time } = await this.describe(commit);
    const { files, sizes } = await this.#list(commit, directory);
    const wanted = new Set<string>();
    for (const [path, { oid, mode }] of files) {
      await breathe();
      if (mode.startsWith('100') && !wanted.has(oid) && wants(path, oid)) wanted.add(oid);
    }
    const isTooLarge = (oid: string): boolean => (sizes.get(oid) ?? 0) > this.#limits.blobBytesMax;
    // Git prints no size for a missing blob. Reading the blob reports the damage.
    const readable = [...wanted].filter((oid) => !isTooLarge(oid));
    return { commit, time, files, blobs: await this.#readBlobs(readable) };
  }

  /** Returns the commits after `from` up to `to`, newest first. Throws if one of the two is missing. */
  async commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]> {
    await this.describe(from);
    const head = await this.describe(to);
    if (head.parents.join() === from) return [head];
    const args = ['rev-list', `--max-count=${countMax}`, to, `^${from}`];
    const commits = linesOf(await this.#git(args, countMax * OID_LINE_BYTES));
    return await inParts(commits, (oid) => this.describe(oid));
  }

  /** Returns true if `descendant` is `ancestor` or comes after it. Throws if `descendant` is missing. */
  async isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    let commit = await this.describe(descendant);
    for (let count = 0; count < LINE_MAX; count += 1) {
      if (ancestor === commit.oid || commit.parents.includes(ancestor)) return true;
      const [parent, second] = commit.parents;
      if (parent === undefined || second !== undefined || !(await this.has(parent))) break;
      commit = await this.describe(parent);
    }
    if (!(await this.has(ancestor))) return false;
    return (await this.#gitOrNone(['merge-base', '--is-ancestor', ancestor, descendant])) !== undefined;
  }

  /** Returns true if two commits have a common ancestor. */
  protected async areRelated(a: string, b: string): Promise<boolean> {
    return (await this.#gitOrNone(['merge-base', a, b])) !== undefined;
  }

  /** Returns true for a commit with missing parents. */
  protected isCut(_commit: string): boolean {
    return false;
  }

  /** Resolves with the last commit that changed each file; see Source. */
  async lastChanges(commit: string, paths: readonly string[], timeoutMs: number): Promise<LastFileChanges> {
    const found = new Map<string, Pick<Commit, 'oid' | 'time'> | null>();
    const signal = AbortSignal.timeout(timeoutMs);
    const queue = [...new Set(paths)];
    const prefix = this.prefix;
    const search = async (): Promise<void> => {
      for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
        if (path.includes('\n') || (await this.objects.find(`${commit}:${prefix}${path}`))?.type !== 'blob') continue;
        const last = await this.#lastChange(commit, `${prefix}${path}`, signal);
        found.set(path, last === undefined || this.isCut(last) ? null : await this.describe(last));
      }
    };
    await Promise.all(Array.from({ length: SEARCHES_MAX }, search));
    return found;
  }

  async #lastChange(commit: string, path: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const output = await this.#git(['rev-list', '--max-count=1', commit, '--', path], OID_LINE_BYTES, signal);
      return linesOf(output)[0];
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  #list(commit: string, directory: string): Promise<Listing> {
    const key = `${commit}:${directory}`;
    if (this.#last?.key === key) return this.#last.listing;
    const listing = this.#listFiles(commit, prefixOf(directory));
    this.#last = { key, listing };
    listing.catch(() => {
      if (this.#last?.listing === listing) this.#last = undefined;
    });
    return listing;
  }

  async #listFiles(commit: string, prefix: string): Promise<Listing> {
    const args = ['ls-tree', '-r', '-z', '-l', commit, ...(prefix === '' ? [] : ['--', prefix])];
    const output = await this.#git(args, LISTING_BYTES_MAX);
    const files = new Map<string, SnapshotFile>();
    const sizes = new Map<string, number>();
    const { entriesMax } = this.#limits;
    for (const entry of splitFields(output)) {
      await breathe();
      const tab = entry.indexOf(TAB);
      const [mode = '', , oid = '', size] = entry.toString('latin1', 0, tab).split(/ +/);
      const path = decodePath(entry.subarray(tab + 1)).slice(prefix.length);
      if (/(?:^|\/)\.{0,2}(?:\/|$)/.test(path)) throw new ContentError(`a tree has the path ${JSON.stringify(path)}`);
      files.set(path, { oid, mode: modeOf(mode) });
      sizes.set(oid, Number(size));
      if (files.size > entriesMax) throw tooMany(prefix, entriesMax);
    }
    return { files, sizes };
  }

  async #readBlobs(wanted: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const { snapshotBytesMax } = this.#limits;
    let total = 0;
    const blobs = await inParts(wanted, async (oid) => {
      const object = await this.objects.find(oid);
      if (object === undefined) throw this.objects.damage(`object ${oid} is missing`);
      total += object.bytes.length;
      if (total > snapshotBytesMax) throw tooMuch(this.prefix, snapshotBytesMax);
      return [oid, object.bytes] as const;
    });
    return new Map(blobs);
  }

  /** Returns the output of git; undefined if it ended with exit code 1, which means "no". */
  async #gitOrNone(args: readonly string[]): Promise<Buffer | undefined> {
    try {
      return await this.#run(args, { outputBytesMax: OID_LINE_BYTES });
    } catch (error) {
      if (error instanceof GitFailure && error.code === 1) return undefined;
      throw this.#explained(error);
    }
  }

  /**
   * Returns the output of git. All passed commits exist, so git fails only if they refer to missing or invalid objects.
   */
  async #git(args: readonly string[], outputBytesMax: number, signal?: AbortSignal): Promise<Buffer> {
    try {
      return await this.#run(args, { outputBytesMax, signal });
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #run(args: readonly string[], options: RunOptions): Promise<Buffer> {
    return this.objects.git.run(args, { ...options, timeoutMs: this.#limits.historyMs });
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof GitFailure) || error.code === null) return error;
    return this.objects.damage(error.message, error);
  }
}

function prefixOf(directory: string): string {
  return directorySteps(directory)
    .map((step) => `${step}/`)
    .join('');
}

/** Splits an output into fields, each of which ends with a zero byte. */
export function splitFields(output: Buffer): readonly Buffer[] {
  const fields: Buffer[] = [];
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0, at);
    fields.push(output.subarray(at, end < 0 ? output.length : end));
    at = end < 0 ? output.length : end + 1;
  }
  return fields;
}

function linesOf(output: Buffer): readonly string[] {
  return output
    .toString('latin1')
    .split('\n')
    .filter((line) => line !== '');
}

/** Reads only the kind and the owner's execute bit, like git, because old tools wrote modes such as `100664`. */
function modeOf(text: string): FileMode {
  if (text.startsWith('12')) return '120000';
  if (text.startsWith('16')) return '160000';
  return (Number.parseInt(text, 8) & 0o100) === 0 ? '100644' : '100755';
}

/** Returns the result of `read` for each item, in order, with limited concurrency. */
async function inParts<From, To>(all: readonly From[], read: (one: From) => Promise<To>): Promise<readonly To[]> {
  const made: To[] = [];
  for (let at = 0; at < all.length; at += REQUESTS_MAX) {
    made.push(...(await Promise.all(all.slice(at, at + REQUESTS_MAX).map(read))));
  }
  return made;
}

function placeOf(prefix: string): string {
  return prefix === '' ? 'the repository' : `"${prefix.slice(0, -1)}"`;
}

function tooMuch(prefix: string, bytesMax: number): ContentError {
  return new ContentError(`the stacks in ${placeOf(prefix)} have more than ${bytesMax} bytes together: divide them`);
}

function tooMany(prefix: string, entriesMax: number): ContentError {
  return new ContentError(
    `${placeOf(prefix)} holds more than ${entriesMax} files: follow a directory of it that holds only the stacks`,
  );
}
