// Finds the commit or digest that begins with given digits: in the repository of the user's folder, and among those of
// the controller. The interface accepts only full ids.
import { isCommitId } from '../model/names.ts';
import { openLocalRepository } from '../repository/local-repository.ts';
import { SourceError } from '../repository/source.ts';
import type { HeldItem, Overview } from '../service/answers.ts';
import { CommandFailure } from './command-failure.ts';
import { getFrom, type ServerOptions } from './server-connection.ts';
import { fromUserDirectory } from './user-directory.ts';

/** At least seven digits, like git's short ids. The kind of a hold may precede the digits of its digest. */
const SHORT = /^(?:[a-z]+(?:-[a-z]+)*-)?([0-9a-f]{7,63})$/;
/**
 * An attacker could search for two changes whose digests share a prefix, let one be reviewed, and push the other. With
 * seven digits that takes about 16,000 attempts, with 20 digits about 10^12.
 */
const APPROVING_DIGITS_MIN = 20;

/**
 * Resolves with the full id of a commit from the repository of the user's folder or from the controller. Throws
 * CommandFailure if neither knows it, or if the id is ambiguous.
 */
export async function findCommit(server: ServerOptions, text: string): Promise<string> {
  if (isCommitId(text)) return text;
  try {
    using repository = await openLocalRepository(fromUserDirectory('.'));
    return await repository.resolve(text);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const found = SHORT.test(text) ? completed(text, await commitsOf(server)) : undefined;
    if (found !== undefined) return found;
    const message =
      `the controller names no commit that begins with "${text}", and the repository in this folder does not know it either ` +
      `(${error.message}): give its full id, 40 hexadecimal digits`;
    throw new CommandFailure(message, { cause: error });
  }
}

/**
 * Resolves with the full digest of a held item without its `prefix`, or with the text if no digest begins with it.
 * Throws CommandFailure if several do, or if the text is too short.
 */
export async function findHeld(server: ServerOptions, text: string, prefix = ''): Promise<string> {
  const [, digits = ''] = SHORT.exec(text) ?? [];
  if (digits === '') return text;
  const { held } = (await getFrom(server, '/operations/held')) as { readonly held: readonly HeldItem[] };
  const digests = held.map(({ digest }) => digest).filter((digest) => digest.startsWith(prefix));
  const found = completed(
    text,
    digests.map((digest) => digest.slice(prefix.length)),
  );
  if (found === undefined || found === text || digits.length >= APPROVING_DIGITS_MIN) return found ?? text;
  throw new CommandFailure(
    `"${text}" is too short to approve by, since another change may begin so: give at least ${APPROVING_DIGITS_MIN} digits ` +
      'of the digest that you have read; see treeline held',
  );
}

function completed(text: string, known: readonly string[]): string | undefined {
  const [found, ...others] = new Set(known.filter((id) => id.startsWith(text)));
  if (others.length === 0) return found;
  throw new CommandFailure(`"${text}" may be ${[found, ...others].join(' or ')}: give more digits`);
}

async function commitsOf(server: ServerOptions): Promise<readonly string[]> {
  const { commit, newest } = (await getFrom(server, '/operations/status')) as Overview;
  return [commit, ...(newest === null ? [] : [newest.commit])];
}
