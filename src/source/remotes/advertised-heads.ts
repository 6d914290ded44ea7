// From what a remote says of all its refs to the heads of its branches.
import { isOid } from '../../git/git-object.ts';
import { SourceError } from '../source.ts';

/** Where Git keeps branches. */
export const HEADS = 'refs/heads/';

const SHA256_DIGITS = 64;

/**
 * Returns the branches' heads by name, without `refs/heads/`. `name` is the remote's, for messages. Throws SourceError
 * where it is a SHA-256 repository.
 */
export function advertisedHeads(
  name: string,
  refs: readonly { readonly ref: string; readonly oid: string }[],
): ReadonlyMap<string, string> {
  if (refs.some(({ oid }) => oid.length === SHA256_DIGITS)) {
    throw new SourceError(
      `"${name}" is a SHA-256 repository, which Treeline cannot read: make one with "git init --object-format=sha1"`,
    );
  }
  const heads = refs.filter(({ ref, oid }) => ref.startsWith(HEADS) && isOid(oid));
  return new Map(heads.map(({ ref, oid }) => [ref.slice(HEADS.length), oid]));
}
