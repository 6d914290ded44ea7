// Finds which commit or digest a person means who gives its first digits: of those that the controller names now, and
// of the repository in the user's folder. The interface itself takes full ids only.
import { isCommitId } from '../model/names.ts';
import { openLocalRepository } from '../repository/local-repository.ts';
import { SourceError } from '../repository/source.ts';
import type { HeldItem, Overview } from '../service/answers.ts';
import { CommandFailure } from './command-failure.ts';
import { getFrom, RefusedRequest, type ServerOptions } from './server-connection.ts';
import { fromUserDirectory } from './user-directory.ts';

/** At least seven digits, as git shows them; before those of a digest there may be what it is for. */
const SHORT_OID = /^[0-9a-f]{7,63}$/;
const SHORT_DIGEST = /^(?:[a-z]+(?:-[a-z]+)*-)?[0-9a-f]{7,63}$/;
const HISTORY = 'history-';
/**
 * Who pushes can look for two changes whose digests begin alike, have a person read one, and put the other in its
 * place: with seven digits that takes 16,000 tries, with these a million millions.
 */
const APPROVING_DIGITS_MIN = 20;

/**
 * Returns the full id of a commit. Throws CommandFailure if it is unknown here or ambiguous. `refusedUntil`: see {@link
 * getFrom}.
 */
export async function findCommit(server: ServerOptions, text: string, refusedUntil?: number): Promise<string> {
  if (isCommitId(text)) return text;
  const known = SHORT_OID.test(text) ? await commitsOf(server, refusedUntil) : [];
  const found = onlyOne(text, known);
  if (found !== undefined) return found;
  try {
    const repository = await openLocalRepository(fromUserDirectory('.'));
    try {
      return await repository.resolve(text);
    } finally {
      repository.close();
    }
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const message =
      `the controller names no commit that begins with "${text}", and the repository in this folder does not know it either ` +
      `(${error.message}): give its full id, 40 hexadecimal digits`;
    throw new CommandFailure(message, { cause: error });
  }
}

/**
 * Returns the full digest of what is held, or the text where nothing begins so. Throws CommandFailure where it may be
 * several, or too short.
 */
export async function findDigest(server: ServerOptions, text: string): Promise<string> {
  if (!SHORT_DIGEST.test(text)) return text;
  return findApproved(
    text,
    (await heldItems(server)).map(({ digest }) => digest),
  );
}

/** Returns the full id of the commit of a rewritten history, as {@link findDigest} does. */
export async function findHeldHistory(server: ServerOptions, text: string): Promise<string> {
  if (!SHORT_OID.test(text)) return text;
  const digests = (await heldItems(server)).flatMap(({ kind, digest }) => (kind === 'history' ? [digest] : []));
  return findApproved(
    text,
    digests.map((digest) => digest.slice(HISTORY.length)),
  );
}

function findApproved(text: string, held: readonly string[]): string {
  const found = onlyOne(text, held);
  if (found === undefined || found === text) return found ?? text;
  const [digits = ''] = /[0-9a-f]*$/.exec(text) ?? [];
  if (digits.length >= APPROVING_DIGITS_MIN) return found;
  const message =
    `"${text}" is too short to approve by, since another change may begin so: give at least ${APPROVING_DIGITS_MIN} digits ` +
    'of what you have read, or all; see treeline held';
  throw new CommandFailure(message);
}

function onlyOne(text: string, known: readonly string[]): string | undefined {
  const [found, ...others] = new Set(known.filter((id) => id.startsWith(text)));
  if (others.length === 0) return found;
  throw new CommandFailure(`"${text}" may be ${[found, ...others].join(' or ')}: give more digits`);
}

async function heldItems(server: ServerOptions): Promise<readonly HeldItem[]> {
  const { held } = (await getFrom(server, '/operations/held')) as { readonly held: readonly HeldItem[] };
  return held;
}

/** A controller that is not ready names none. */
async function commitsOf(server: ServerOptions, refusedUntil = 0): Promise<readonly string[]> {
  try {
    const { commit, newest } = (await getFrom(server, '/operations/status', { refusedUntil })) as Overview;
    return [commit, ...(newest === null ? [] : [newest.commit])];
  } catch (error) {
    if (error instanceof RefusedRequest && error.status === 503) return [];
    throw error;
  }
}
