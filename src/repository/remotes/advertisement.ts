// Reads the branches and capabilities that a remote advertises. The only file that imports isomorphic-git: its fetch
// accepts a truncated pack, and its push does not report whether anything was sent; see
// docs/decisions/0025-fetching.md.

import type { HttpClient } from 'isomorphic-git';
import { reasonOf } from '../../base/wording.ts';
import { isOid } from '../git/git-object.ts';
import { SourceError } from '../source.ts';
import type { Transport } from './transport.ts';

/** The prefix of branch refs. */
export const HEADS = 'refs/heads/';

/** The answer of a remote to the start of a fetch or push. */
export interface Advertisement {
  /** By the branch's name, without `refs/heads/`. */
  readonly heads: ReadonlyMap<string, string>;
  readonly capabilities: ReadonlySet<string>;
  /** The remote is a shallow clone: it lacks what comes before some of its commits. */
  readonly isShallow: boolean;
}

const SHA256_DIGITS = 64;
const NOTHING = new Uint8Array();

/**
 * Requests the advertisement for a fetch or a push. Throws SourceError if the remote fails, or is a SHA-256 repository.
 */
export async function askForBranches(
  transport: Transport,
  { forPush, signal }: { readonly forPush: boolean; readonly signal: AbortSignal },
): Promise<Advertisement> {
  const { name, url } = transport;
  const http = httpOver(transport, signal);
  // Loaded when a remote is asked first: it is the largest package, and a start serves what it has before that.
  const { Errors, getRemoteInfo2 } = await import('isomorphic-git');
  /** isomorphic-git wraps unexpected errors into a request to report a bug; usually the answer is damaged. */
  const damageOf = (error: unknown): string =>
    error instanceof Errors.InternalError ? error.data.message : reasonOf(error);
  try {
    // Version 1: in version 2, isomorphic-git mistakes an empty repository for one that speaks no version at all.
    const { refs = [], capabilities } = await getRemoteInfo2({ http, url, forPush, protocolVersion: 1 });
    // An empty repository has no object id that shows its format.
    if (capabilities['object-format'] === 'sha256') throw sha256Refused(name);
    // A line `shallow <oid>` is taken for a ref of that name; see gitprotocol-pack, "Reference Discovery".
    const isShallow = refs.some(({ oid }) => oid === 'shallow');
    return { heads: advertisedHeads(name, refs), capabilities: new Set(Object.keys(capabilities)), isShallow };
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw new SourceError(`"${name}" could not be read: ${damageOf(error)}`, { cause: error });
  }
}

/** Returns the transport in the form that isomorphic-git calls, which has no deadline except those of its requests. */
function httpOver(transport: Transport, signal: AbortSignal): HttpClient {
  return {
    async request({ url, method = 'GET', headers = {} }) {
      const answer = await transport.request({ url, method, headers, body: NOTHING, signal });
      return { ...answer, url, body: iterate(answer.body) };
    },
  };
}

async function* iterate(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/**
 * Returns the branches' heads by name, without `refs/heads/`. `name` is the remote's, for messages. Throws SourceError
 * if it is a SHA-256 repository.
 */
export function advertisedHeads(
  name: string,
  refs: readonly { readonly ref: string; readonly oid: string }[],
): ReadonlyMap<string, string> {
  if (refs.some(({ oid }) => oid.length === SHA256_DIGITS)) {
    throw sha256Refused(name);
  }
  const heads = refs.filter(({ ref, oid }) => ref.startsWith(HEADS) && isOid(oid));
  return new Map(heads.map(({ ref, oid }) => [ref.slice(HEADS.length), oid]));
}

/** Returns the error for a SHA-256 repository. */
export function sha256Refused(name: string): SourceError {
  return new SourceError(
    `"${name}" is a SHA-256 repository, which Treeline cannot read: make one with "git init --object-format=sha1"`,
  );
}

/** Returns the error for a fetch that failed because the remote is a shallow clone. */
export function shallowRefused(name: string, cause: unknown): SourceError {
  return new SourceError(
    `"${name}" is a shallow clone and lacks older commits, which are needed: run "git fetch --unshallow" in it, or follow the repository that it was cloned from`,
    { cause },
  );
}
