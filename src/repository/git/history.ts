// Compares commits by ancestry with git. For near commits, reading them is faster: a process costs some milliseconds.

import { OFFLINE_ENVIRONMENT } from './git-environment.ts';
import type { ParsedCommit } from './git-object.ts';
import { GitError, GitFailure, runGit } from './git-process.ts';
import { BOUNDED_ENVIRONMENT } from './index-pack.ts';
import { DamagedCopyError, type ObjectReader } from './object-reader.ts';

/** The repository to search, and for how long. */
export interface HistoryQuestion {
  /** A bare repository that has both commits with all objects that they refer to. */
  readonly gitDirectory: string;
  /** How long git may search, in milliseconds. */
  readonly timeoutMs: number;
}

const OID_LINE_BYTES = 41;
/** The number of commits in one push of Treeline: reading them takes less time than starting a process. */
const LINE_MAX = 50;

/**
 * Returns the commits after `from` up to `to`, newest first, if they are few and without a merge; none if `to` is
 * `from`. Undefined: not determined.
 */
export async function lineBetween(
  objects: Pick<ObjectReader, 'readCommit'>,
  from: string,
  to: ParsedCommit,
): Promise<readonly ParsedCommit[] | undefined> {
  const line: ParsedCommit[] = [];
  let next = to;
  while (next.oid !== from) {
    line.push(next);
    const [parent, second] = next.parents;
    if (parent === from && second === undefined) break;
    if (parent === undefined || second !== undefined || line.length === LINE_MAX) return undefined;
    next = await objects.readCommit(parent);
  }
  return line;
}

/**
 * Returns true if `ancestor` is `descendant` or comes before it. Throws DamagedCopyError if git cannot determine this.
 */
export async function isReachable(
  question: HistoryQuestion,
  { ancestor, descendant }: { readonly ancestor: string; readonly descendant: string },
): Promise<boolean> {
  try {
    await query(question, ['merge-base', '--is-ancestor', ancestor, descendant], 0);
    return true;
  } catch (error) {
    if (error instanceof GitFailure && error.ending === 1) return false;
    throw asDamage(error);
  }
}

/**
 * Returns the commits reachable from `to` and not from `from`, newest first by committer time; at most `countMax`.
 * Throws DamagedCopyError if git cannot determine them.
 */
export async function newCommits(
  question: HistoryQuestion,
  { from, to, countMax }: { readonly from: string; readonly to: string; readonly countMax: number },
): Promise<readonly string[]> {
  try {
    const printed = await query(question, ['rev-list', `--max-count=${countMax}`, to, `^${from}`], countMax);
    return printed.split('\n').filter((line) => line !== '');
  } catch (error) {
    throw asDamage(error);
  }
}

/** Returns the id of the commit that a revision names; undefined if there is none. The revision begins with no `-`. */
export function commitAt(question: HistoryQuestion, revision: string): Promise<string | undefined> {
  return objectAt(question, `${revision}^{commit}`);
}

/** Returns true if a revision has a file or a folder at a path from the root. */
export async function hasPath(question: HistoryQuestion, revision: string, path: string): Promise<boolean> {
  return (await objectAt(question, `${revision}:${path}`)) !== undefined;
}

async function objectAt(question: HistoryQuestion, name: string): Promise<string | undefined> {
  try {
    const printed = await query(question, ['rev-parse', '--verify', '--quiet', name], 1);
    return printed.trim();
  } catch (error) {
    if (error instanceof GitFailure && typeof error.ending === 'number') return undefined;
    throw error;
  }
}

/** How many best common ancestors are read: crossing histories have two or three. */
const ANCESTORS_MAX = 100;

/** Returns the best common ancestors of two commits; none if they have no history in common. */
export async function commonAncestors(question: HistoryQuestion, a: string, b: string): Promise<readonly string[]> {
  try {
    const printed = await query(question, ['merge-base', '--all', a, b], ANCESTORS_MAX);
    return printed.split('\n').filter((line) => line !== '');
  } catch (error) {
    if (error instanceof GitFailure && error.ending === 1) return [];
    throw asDamage(error);
  }
}

async function query(
  { gitDirectory, timeoutMs }: HistoryQuestion,
  command: readonly string[],
  linesMax: number,
): Promise<string> {
  const args = [`--git-dir=${gitDirectory}`, ...command];
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(new GitError(`git found no answer within ${timeoutMs / 1000} s`)),
    timeoutMs,
  );
  const environment = { ...BOUNDED_ENVIRONMENT, ...OFFLINE_ENVIRONMENT };
  const order = { args, environment, name: gitDirectory, signal: late.signal };
  try {
    return Buffer.concat(await runGit({ ...order, answerBytesMax: linesMax * OID_LINE_BYTES })).toString('latin1');
  } finally {
    clearTimeout(timer);
  }
}

/** Both commits exist: an object that git misses is one that they refer to. */
function asDamage(error: unknown): unknown {
  if (!(error instanceof GitFailure) || typeof error.ending !== 'number') return error;
  return new DamagedCopyError(`the local copy of the repository is damaged: ${error.message}`, { cause: error });
}

interface WalkedLine {
  readonly from: string;
  readonly to: string;
  /** At most as many as {@link lineBetween} returns. */
  readonly commits: readonly ParsedCommit[];
}

/**
 * The line that was walked last, if it was determined: a commit that is followed asks for the same one twice. Ids name
 * contents, so nothing makes it invalid.
 */
export class LastLine {
  #last: WalkedLine | undefined;

  /** Returns what {@link lineBetween} returns. `to` is here, so every commit of the line is. */
  async between(
    objects: Pick<ObjectReader, 'readCommit'>,
    from: string,
    to: ParsedCommit,
  ): Promise<readonly ParsedCommit[] | undefined> {
    if (this.#last?.from === from && this.#last.to === to.oid) return this.#last.commits;
    const commits = await lineBetween(objects, from, to);
    if (commits !== undefined) this.#last = { from, to: to.oid, commits };
    return commits;
  }
}
