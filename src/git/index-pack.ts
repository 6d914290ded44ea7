// Verifies a pack by git's own `index-pack`, in a process beside this one: it hashes every object, and looks for every object
// that one refers to. The pack goes through piece by piece, and no object is ever held here.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { GitError, GitFailure, runGit } from './git-process.ts';
import { PACK_HEADER_BYTES, packBases } from './pack-files.ts';

export interface PackLimits {
  /** The largest pack that is taken, in bytes. */
  readonly packBytesMax: number;
  /** How many objects a pack may hold: each costs git some 140 bytes of memory, and this process 32. */
  readonly objectsMax: number;
}

export interface PackOrder extends PackLimits {
  /** A bare repository. What it borrows from others counts as present. */
  readonly gitDirectory: string;
  /** The remote's, for messages. */
  readonly name: string;
  readonly signal: AbortSignal;
}

/**
 * What `git fsck` finds wrong and nothing here depends on: how a commit names its people and times, as old tools wrote it,
 * and what a checkout would need. Treeline never checks out.
 */
const TOLERATED: readonly string[] = [
  ...['badDate', 'badDateOverflow', 'badTimezone', 'zeroPaddedDate', 'missingSpaceBeforeDate'],
  ...['badEmail', 'badName', 'missingEmail', 'missingNameBeforeEmail', 'missingSpaceBeforeEmail', 'multipleAuthors'],
  ...['zeroPaddedFilemode', 'nulInCommit', 'hasDotgit'],
  ...[
    'gitmodulesBlob',
    'gitmodulesLarge',
    'gitmodulesMissing',
    'gitmodulesName',
    'gitmodulesPath',
    'gitmodulesSymlink',
  ],
  ...['gitmodulesUpdate', 'gitmodulesUrl'],
];

/** Settings of git that bound the memory of `index-pack`: a larger blob is hashed piece by piece. */
export const BOUNDED: readonly string[] = [
  ...['-c', 'core.bigFileThreshold=1m'],
  ...['-c', 'core.deltaBaseCacheLimit=16m'],
  ...['-c', 'pack.threads=1'],
];

/** No single piece of memory is larger: what a delta would make of a kilobyte is refused before it is made. */
export const BOUNDED_ENVIRONMENT: Readonly<Record<string, string>> = { GIT_ALLOC_LIMIT: '128m' };

const OUTPUT_BYTES_MAX = 4096;

/**
 * Resolves once the pack is in the repository, with an index, and every object of it is right and refers only to objects
 * that are there. Throws GitError otherwise, and at a limit; an error of the stream is thrown as it is.
 */
export async function indexPack(pack: AsyncIterable<Uint8Array>, order: PackOrder): Promise<void> {
  const received = { bytes: 0 };
  await runIndexPack(order, ['--stdin', `--max-input-size=${order.packBytesMax}`], limited(pack, order, received));
  // Git reads to the end of the pack, and no further.
  const bytes = await Promise.all(packBases(order.gitDirectory).map(async (base) => (await stat(`${base}.pack`)).size));
  if (bytes.length !== 1 || bytes[0] !== received.bytes) throw notWhole(order.name, 'something comes after the pack');
}

/** Resolves once the packs that are in the repository are verified in the same way. Throws GitError otherwise. */
export async function verifyPacks(order: PackOrder): Promise<void> {
  for (const base of packBases(order.gitDirectory)) {
    await runIndexPack(order, ['-o', join(order.gitDirectory, 'verified.idx'), `${base}.pack`]);
  }
}

async function runIndexPack(
  { gitDirectory, name, signal }: PackOrder,
  what: readonly string[],
  input: AsyncIterable<Uint8Array> | Uint8Array = new Uint8Array(),
): Promise<void> {
  const strict = `--strict=${TOLERATED.map((id) => `${id}=ignore`).join(',')}`;
  const args = [`--git-dir=${gitDirectory}`, ...BOUNDED, 'index-pack', strict, ...what];
  try {
    await runGit({
      ...{ args, input, name, signal, givesWay: true },
      environment: BOUNDED_ENVIRONMENT,
      answerBytesMax: OUTPUT_BYTES_MAX,
    });
  } catch (error) {
    throw error instanceof GitFailure ? notWhole(name, reasonOf(error), error) : error;
  }
}

/** Returns the error that refuses what a remote sent. */
export function notWhole(name: string, reason: string, cause?: unknown): GitError {
  return new GitError(`what "${name}" sent is not whole, and was not taken: ${reason}`, { cause });
}

async function* limited(
  pack: AsyncIterable<Uint8Array>,
  { name, objectsMax }: PackOrder,
  received: { bytes: number },
): AsyncGenerator<Uint8Array> {
  let header = Buffer.alloc(0);
  for await (const chunk of pack) {
    if (header.length < PACK_HEADER_BYTES) {
      header = Buffer.concat([header, chunk.subarray(0, PACK_HEADER_BYTES - header.length)]);
      if (header.length === PACK_HEADER_BYTES) refuseTooMany(header, { name, objectsMax });
    }
    received.bytes += chunk.length;
    yield chunk;
  }
}

/** Throws GitError where the header of a pack announces more objects than are taken. */
export function refuseTooMany(header: Buffer, { name, objectsMax }: Pick<PackOrder, 'name' | 'objectsMax'>): void {
  const count = header.readUInt32BE(PACK_HEADER_BYTES - 4);
  if (header.toString('latin1', 0, 4) !== 'PACK' || count <= objectsMax) return;
  throw new GitError(
    `"${name}" sends ${count} objects, and ${objectsMax} are taken at once: follow a repository that holds the stacks alone`,
  );
}

/** The words of git, or what they mean here. */
function reasonOf({ complaint }: GitFailure): string {
  if (/unresolved deltas?/.test(complaint)) return 'the pack lacks objects that it builds on';
  const missing = /did not receive expected object ([0-9a-f]{40})/.exec(complaint)?.[1];
  if (missing !== undefined) return `object ${missing} is missing, which another refers to`;
  if (/attempting to allocate/.test(complaint)) return 'an object of it is too large';
  return complaint
    .replace(/\s+/g, ' ')
    .replace(/^fatal: /, '')
    .trim();
}
