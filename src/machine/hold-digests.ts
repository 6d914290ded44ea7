// Names what is held: an approval is for one digest and nothing else. Pure. docs/concepts.md, holds.
import { createHash } from 'node:crypto';
import { compareNames } from '../model/names.ts';
import type { Removal } from './removals.ts';

/** Returns the digest of deletes: SHA-256 over the sorted servers and their incarnations, in hexadecimal. */
export function deletesDigest(removals: readonly Removal[]): string {
  const lines = removals.map(({ server, incarnation }) => `${server} ${incarnation}\n`).sort(compareNames);
  return createHash('sha256').update(lines.join('')).digest('hex');
}

/** Returns the digest of the updates of a commit of which too many fail. */
export function failuresDigest(commit: string): string {
  return `failures-${commit}`;
}

/** Returns the digest under which a commit is held that does not come after the followed one. */
export function historyDigest(commit: string): string {
  return `history-${commit}`;
}

/** Returns the digest under which a commit is held after which nothing is left. */
export function nothingLeftDigest(commit: string): string {
  return `nothing-left-${commit}`;
}
