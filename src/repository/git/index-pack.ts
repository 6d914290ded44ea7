// Verifies a pack with git's `index-pack`, in a separate process: it hashes every object, and checks that every
// referenced object exists. The pack is streamed; this process holds no object.
import { stat } from 'node:fs/promises';
import { GitError, GitFailure, runGit } from './git-process.ts';
import { PACK_HEADER_BYTES, packBases } from './pack-files.ts';

/** The limits of a pack. */
export interface PackLimits {
  /** The maximum size of a pack, in bytes. */
  readonly packBytesMax: number;
  /** The maximum number of objects in a pack: each costs git some 140 bytes of memory, and this process 32. */
  readonly objectsMax: number;
}

interface PackOrder extends PackLimits {
  /** A bare repository. Objects that it borrows count as present. */
  readonly gitDirectory: string;
  /** The remote's name, for messages. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Runs git at a lower priority. */
  readonly givesWay: boolean;
}

/**
 * Findings of `git fsck` that Treeline does not depend on: names and times of people as old tools wrote them, and
 * findings that concern checkouts. Treeline never checks out.
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

/** Settings of git that limit the memory of `index-pack`: a larger blob is hashed in pieces. */
export const BOUNDED: readonly string[] = [
  ...['-c', 'core.bigFileThreshold=1m'],
  ...['-c', 'core.deltaBaseCacheLimit=16m'],
  ...['-c', 'pack.threads=1'],
];

/** The maximum size of one allocation: the result of a delta bomb is refused before it is built. */
export const BOUNDED_ENVIRONMENT: Readonly<Record<string, string>> = { GIT_ALLOC_LIMIT: '128m' };

const OUTPUT_BYTES_MAX = 4096;

/**
 * Resolves once the pack is in the repository, with an index, and all its objects are valid and refer only to existing
 * ones. Throws GitError otherwise, and at a limit; an error of the stream is thrown unchanged.
 */
export async function indexPack(pack: AsyncIterable<Uint8Array>, order: PackOrder): Promise<void> {
  const received = { bytes: 0 };
  await runIndexPack(order, ['--stdin', `--max-input-size=${order.packBytesMax}`], limited(pack, order, received));
  // Git reads to the end of the pack, and no further.
  const bytes = await Promise.all(packBases(order.gitDirectory).map(async (base) => (await stat(`${base}.pack`)).size));
  if (bytes.length !== 1 || bytes[0] !== received.bytes) throw notWhole(order.name, 'something comes after the pack');
}

async function runIndexPack(
  { gitDirectory, name, signal, givesWay }: PackOrder,
  what: readonly string[],
  input: AsyncIterable<Uint8Array> | Uint8Array = new Uint8Array(),
): Promise<void> {
  const strict = `--strict=${TOLERATED.map((id) => `${id}=ignore`).join(',')}`;
  const args = [`--git-dir=${gitDirectory}`, ...BOUNDED, 'index-pack', strict, ...what];
  try {
    await runGit({
      ...{ args, input, name, signal, givesWay },
      environment: BOUNDED_ENVIRONMENT,
      answerBytesMax: OUTPUT_BYTES_MAX,
    });
  } catch (error) {
    throw error instanceof GitFailure ? notWhole(name, explainComplaint(error), error) : error;
  }
}

/** The answer of a remote is incomplete or invalid. */
export class IncompleteError extends GitError {}

/** Returns the error for an incomplete or invalid answer of a remote. */
export function notWhole(name: string, reason: string, cause?: unknown): IncompleteError {
  return new IncompleteError(`what "${name}" sent is not whole, and was not taken: ${reason}`, { cause });
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

/** Throws GitError if the header of a pack announces too many objects. */
function refuseTooMany(header: Buffer, { name, objectsMax }: Pick<PackOrder, 'name' | 'objectsMax'>): void {
  const count = header.readUInt32BE(PACK_HEADER_BYTES - 4);
  if (header.toString('latin1', 0, 4) !== 'PACK' || count <= objectsMax) return;
  throw new GitError(
    `"${name}" sends ${count} objects, and ${objectsMax} are taken at once: follow a repository that holds the stacks alone`,
  );
}

/** Returns git's message, or a clearer one for known failures. */
function explainComplaint({ complaint }: GitFailure): string {
  if (/unresolved deltas?/.test(complaint)) return 'the pack lacks objects that it builds on';
  const missing = /did not receive expected object ([0-9a-f]{40})/.exec(complaint)?.[1];
  if (missing !== undefined) return `object ${missing} is missing, which another refers to`;
  if (/attempting to allocate/.test(complaint)) return 'an object of it is too large';
  return complaint
    .replace(/\s+/g, ' ')
    .replace(/^fatal: /, '')
    .trim();
}
