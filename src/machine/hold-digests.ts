// Computes the digests of holds: an approval is valid for one digest only. Pure. docs/concepts.md, holds.
import { createHash } from 'node:crypto';
import { compareNames } from '../model/names.ts';
import type { Removal } from './removals.ts';

/** Returns the digest of deletes: SHA-256 over the sorted servers and their incarnations, in hexadecimal. */
export function deletesDigest(removals: readonly Removal[]): string {
  const lines = removals.map(({ server, incarnation }) => `${server} ${incarnation}\n`).sort(compareNames);
  return createHash('sha256').update(lines.join('')).digest('hex');
}

/** Returns the digest of a commit's updates that are held because too many have failed. */
export function failuresDigest(commit: string): string {
  return `failures-${commit}`;
}

const HISTORY = 'history-';

/** Returns the digest of a commit that is held because it does not descend from the followed one. */
export function historyDigest(commit: string): string {
  return `${HISTORY}${commit}`;
}

/** Returns the commit of a digest of {@link historyDigest}. */
export function acceptedCommit(digest: string): string {
  return digest.slice(HISTORY.length);
}

/** Returns the digest of a commit that is held because it leaves nothing. */
export function nothingLeftDigest(commit: string): string {
  return `nothing-left-${commit}`;
}
