// Reads the commits of one repository with git: their files, their metadata and how they are related. Shared by the
// followed branch and by repositories of users.
import { breatheBy } from '../base/breathe.ts';
import { systemClock } from '../base/clock.ts';
import type { FileMode, Snapshot, SnapshotFile } from '../model/snapshot.ts';
import { decodePath, isOid, type ParsedCommit } from './git-object.ts';
import { DamagedObjectError, type ObjectReader } from './object-reader.ts';
import { directorySteps } from './repository-url.ts';
import { ContentError, type GitError, GitFailure } from './run-git.ts';
import type { BlobFilter, ChangeLimits, Commit, LastFileChanges, SourceLimits } from './source.ts';

const breathe = breatheBy(systemClock);

interface ReaderOptions {
  readonly objects: ObjectReader;
  /** The directory of the layout in the repository; `.` is its root. */
  readonly directory: string;
  readonly limits: SourceLimits;
  /** Returns the error for a commit that the repository does not have. */
  readonly missing: (commit: string) => GitError;
}

interface Listing {
  readonly files: Map<string, SnapshotFile>;
  /** In bytes, by object id. */
  readonly sizes: Map<string, number>;
}

/** The number of commits in one push of Treeline: reading them takes less time than starting a process. */
const LINE_MAX = 50;
/** For 100,000 files, paths of some 250 characters. */
const LISTING_BYTES_MAX = 32 * 1024 * 1024;
/** How many best common ancestors are read: crossing histories have two or three. */
const ANCESTORS_MAX = 100;
const OID_LINE_BYTES = 65;
/** How many blobs are requested at once. */
const REQUESTS_MAX = 1000;
/** How many searches for last changes run at once. */
const SEARCHES_MAX = 4;
const TAB = 0x09;

/** Reads commits. Its methods throw DamagedObjectError if git reports damage, and may be called at once. */
export class HistoryReader {
  readonly #options: ReaderOptions;
  /** The last listing: a commit that is followed is read several times. */
  #last: { readonly key: string; readonly listing: Promise<Listing> } | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  has(commit: string): Promise<boolean> {
    return this.#options.objects.hasCommit(commit);
  }

  async describe(commit: string): Promise<ParsedCommit> {
    const found = isOid(commit) ? await this.#options.objects.findCommit(commit) : undefined;
    if (found === undefined) throw this.#options.missing(commit);
    return found;
  }

  /** Returns the files of a commit; see Source. */
  async snapshot(commit: string, wants: BlobFilter, directory = this.#options.directory): Promise<Snapshot> {
    const { time } = await this.describe(commit);
    const { files, sizes } = await this.#list(commit, directory);
    const wanted = new Set<string>();
    for (const [path, { oid, mode }] of files) {
      await breathe();
      if (mode.startsWith('100') && !wanted.has(oid) && wants(path, oid)) wanted.add(oid);
    }
    // Git prints no size of a blob that it does not have.
    const missing = [...wanted].find((oid) => Number.isNaN(sizes.get(oid)));
    if (missing !== undefined) throw new DamagedObjectError(`object ${missing} is missing`);
    const { blobBytesMax } = this.#options.limits;
    const readable = [...wanted].filter((oid) => (sizes.get(oid) ?? 0) <= blobBytesMax);
    return { commit, time, files, blobs: await this.#readBlobs(readable) };
  }

  /** Returns the commits after `from` up to `to`, newest first. Throws if one of the two is not here. */
  async commitsBetween(from: string, to: string, countMax: number): Promise<readonly Commit[]> {
    await this.describe(from);
    const line = await this.#lineBetween(from, to);
    if (line !== undefined) return line.slice(0, countMax);
    const args = ['rev-list', `--max-count=${countMax}`, to, `^${from}`];
    const commits = linesOf(await this.#git(args, countMax * OID_LINE_BYTES));
    return await inParts(commits, (oid) => this.#options.objects.readCommit(oid));
  }

  /** Returns true if `descendant` is `ancestor` or comes after it. Throws if `descendant` is not here. */
  async isAncestor(ancestor: string, descendant: string): Promise<boolean> {
    await this.describe(descendant);
    if (ancestor === descendant) return true;
    if (!(await this.has(ancestor))) return false;
    if ((await this.#lineBetween(ancestor, descendant)) !== undefined) return true;
    return (await this.#gitOrNone(['merge-base', '--is-ancestor', ancestor, descendant])) !== undefined;
  }

  /** Returns the best common ancestors of two commits; none if they have no history in common. */
  async commonAncestors(a: string, b: string): Promise<readonly string[]> {
    return linesOf((await this.#gitOrNone(['merge-base', '--all', a, b])) ?? Buffer.alloc(0));
  }

  /**
   * Returns which commit changed each file last; see Source. `isCut` returns true for a commit whose parents are not
   * here.
   */
  async lastChanges(
    commit: string,
    paths: readonly string[],
    { timeoutMs }: ChangeLimits,
    isCut: (commit: string) => boolean = () => false,
  ): Promise<LastFileChanges> {
    const found = new Map<string, Pick<Commit, 'oid' | 'time'> | null>();
    const signal = AbortSignal.timeout(timeoutMs);
    const queue = [...new Set(paths)];
    const prefix = this.prefix;
    const search = async (): Promise<void> => {
      for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
        const { objects } = this.#options;
        if (path.includes('\n') || (await objects.find(`${commit}:${prefix}${path}`))?.type !== 'blob') continue;
        const last = await this.#lastChange(commit, `${prefix}${path}`, signal);
        found.set(path, last === undefined || isCut(last) ? null : await this.describe(last));
      }
    };
    await Promise.all(Array.from({ length: SEARCHES_MAX }, search));
    return found;
  }

  /** The path from the root of the repository to the layout: '' or one that ends in `/`. */
  get prefix(): string {
    return prefixOf(this.#options.directory);
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

  /** Returns the commits after `from` up to `to`, newest first, if they are few and without a merge; else undefined. */
  async #lineBetween(from: string, to: string): Promise<readonly ParsedCommit[] | undefined> {
    const line: ParsedCommit[] = [];
    let next = await this.describe(to);
    while (next.oid !== from) {
      line.push(next);
      const [parent, second] = next.parents;
      if (parent === from && second === undefined) break;
      if (parent === undefined || second !== undefined || line.length === LINE_MAX) return undefined;
      if (!(await this.has(parent))) return undefined;
      next = await this.#options.objects.readCommit(parent);
    }
    return line;
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
    const { entriesMax } = this.#options.limits;
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
    const { snapshotBytesMax, blobBytesMax } = this.#options.limits;
    let total = 0;
    const blobs = await inParts(wanted, async (oid) => {
      const { bytes } = await this.#options.objects.read(oid, 'blob');
      total += bytes.length;
      if (total > snapshotBytesMax) throw tooMuch(this.prefix, snapshotBytesMax);
      return [oid, bytes] as const;
    });
    return new Map(blobs.filter(([, bytes]) => bytes.length <= blobBytesMax));
  }

  /** Returns the output of git; undefined if it ended with 1, which means no. */
  async #gitOrNone(args: readonly string[]): Promise<Buffer | undefined> {
    try {
      return await this.#git(args, ANCESTORS_MAX * OID_LINE_BYTES);
    } catch (error) {
      if (error instanceof DamagedObjectError && error.cause instanceof GitFailure && error.cause.code === 1) {
        return undefined;
      }
      throw error;
    }
  }

  /**
   * All commits that are passed exist, so that git fails only if they refer to something that is missing or invalid.
   */
  async #git(args: readonly string[], outputBytesMax: number, signal?: AbortSignal): Promise<Buffer> {
    const { objects, limits } = this.#options;
    try {
      return await objects.git.run(args, { outputBytesMax, signal, timeoutMs: limits.historyMs });
    } catch (error) {
      if (!(error instanceof GitFailure) || error.code === null) throw error;
      throw new DamagedObjectError(error.message, { cause: error });
    }
  }
}

function prefixOf(directory: string): string {
  return directorySteps(directory)
    .map((step) => `${step}/`)
    .join('');
}

/** Returns the fields of an output that ends each with a zero byte. */
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

/** Old tools wrote modes such as `100664`: like git, this reads only the kind and the owner's execute bit. */
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
