// The remote repository: finds the head of a branch, fetches it, and pushes to it. It uses the same four git commands
// for https, ssh and local paths. ARCHITECTURE.md, "Git".
import { dirname } from 'node:path';
import { didYouMean } from '../base/wording.ts';
import { compareNames, isCommitId } from '../model/names.ts';
import type { RepositoryAccess } from '../model/settings.ts';
import { Access, NO_ACCESS } from './access.ts';
import { explainGitFailure, explainRefusal, oneLine } from './advice.ts';
import type { PushOutcome } from './publisher.ts';
import { checkBranch, checkEncryption, parseRepositoryUrl } from './repository-url.ts';
import { Git, GitError, GitFailure, type RunOptions } from './run-git.ts';
import type { SourceLimits } from './source.ts';

interface RemoteOptions {
  /** A path, `https://` …; see repository-url.ts. */
  readonly url: string;
  /** Default: anonymous. */
  readonly access?: RepositoryAccess | undefined;
  /** The followed branch. */
  readonly branch: string;
  /** The file for git's configuration. */
  readonly configFile: string;
  readonly limits: Pick<SourceLimits, 'packBytesMax' | 'fetchMs' | 'silenceMs'>;
}

/** The commits to push. */
export interface PushOrder {
  readonly branch: string;
  /** The required head of the branch; null: the branch must not exist. */
  readonly old: string | null;
  readonly commit: string;
}

/** The ref of the last fetched commit in the local copy. */
export const HEAD_REF = 'refs/treeline/head';
/** The time limit of one push, including hooks. */
const PUSH_MS = 60_000;
const REFS_BYTES_MAX = 64 * 1024 * 1024;
const BRANCHES_NAMED_MAX = 10;
/** The exit code of `ls-remote --exit-code` without a matching ref. */
const NO_REF = 2;

/** Git's messages before or during the first contact: the remote has received nothing. */
const BEFORE_CONTACT = [
  'unable to access',
  'Authentication failed',
  'could not read',
  'repository .* not found',
  '.* not valid:',
  '.*does not appear to be a git',
  'the remote end hung up upon initial contact',
];
const NOTHING_SENT = new RegExp(`^fatal: (?:${BEFORE_CONTACT.join('|')})`, 'im');
const WAS_SENT = /RPC failed|hung up unexpectedly|unexpected disconnect|^Writing objects/m;
const NOT_ALLOWED =
  /denied|read[- ]?only|not allowed|write access|unauthorized|forbidden|error: 40[134]|Authentication/i;

/** Another push is in progress. */
const LOCKED = /cannot lock ref|failed to (?:lock|update ref)/i;
/** Causes that LOCKED would also match: the remote cannot write, or a hook refuses. */
const CANNOT_WRITE = /permission denied|read-only|no space left|quota exceeded|aborted by .*hook/i;

/** A remote repository and the followed branch in it. */
export class Remote {
  /** The repository as messages show it. */
  readonly name: string;
  readonly #isLocal: boolean;
  readonly #options: RemoteOptions;
  readonly #access: Access;

  /** Starts no process. Throws GitError for an invalid URL or branch. */
  constructor(options: RemoteOptions) {
    const { url, access = NO_ACCESS, branch, configFile, limits } = options;
    checkBranch(branch);
    const place = parseRepositoryUrl(url);
    const hasSecret = access.username !== null || access.password !== null;
    if (place.kind === 'http') checkEncryption(place.url, hasSecret);
    this.name = place.kind === 'local' ? place.path : place.url;
    this.#isLocal = place.kind === 'local';
    this.#options = options;
    this.#access = new Access({ place, access, configFile, silenceMs: limits.silenceMs });
  }

  /**
   * Resolves with the head of a branch; undefined if there is no such branch. Throws GitError with advice.
   */
  async find(branch: string, signal?: AbortSignal): Promise<string | undefined> {
    const ref = `refs/heads/${branch}`;
    try {
      const output = await this.#run(undefined, ['ls-remote', '--exit-code', '--', this.name, ref], { signal });
      return refsIn(output).get(ref);
    } catch (error) {
      if (error instanceof GitFailure && error.code === NO_REF) return undefined;
      throw this.#explained(error, 'read');
    }
  }

  /**
   * Resolves with the head of the followed branch. Throws GitError with advice, which lists the branches if the branch
   * is missing.
   */
  async head(signal?: AbortSignal): Promise<string> {
    const { branch } = this.#options;
    return (await this.find(branch, signal)) ?? (await this.#explainMissing(branch, signal));
  }

  /** Fetches the followed branch into {@link HEAD_REF} of a repository. If it throws GitError, the ref is unchanged. */
  async fetch(directory: string, signal?: AbortSignal): Promise<void> {
    const { branch, limits } = this.#options;
    const flags = ['--quiet', '--no-tags', '--no-recurse-submodules', '--no-write-fetch-head', '--no-auto-maintenance'];
    const args = ['fetch', ...flags, '--', this.name, `+refs/heads/${branch}:${HEAD_REF}`];
    const { packBytesMax: fileBytesMax, fetchMs: timeoutMs } = limits;
    try {
      await this.#run(directory, args, { signal, timeoutMs, fileBytesMax, endsWithParent: true });
    } catch (error) {
      throw this.#explained(error, 'read');
    }
  }

  /** Pushes a commit of a repository on this machine to a branch. Failures of the remote are outcomes. */
  async push(directory: string, { branch, old, commit }: PushOrder): Promise<PushOutcome> {
    const ref = `refs/heads/${branch}`;
    const refspec = `${commit}:${ref}`;
    const lease = `--force-with-lease=${ref}:${old ?? ''}`;
    const flags = ['--porcelain', '--no-follow-tags', '--recurse-submodules=no', lease];
    const args = ['push', ...flags, '--', this.name, refspec];
    try {
      await this.#run(directory, args, { timeoutMs: PUSH_MS, endsWithParent: true });
      return { is: 'pushed' };
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      if (!(error instanceof GitFailure || isTimeout(error))) return { is: 'not sent', reason: error.message };
      return await this.#failedPush(error, { refspec, branch, old, commit });
    }
  }

  /** Resolves with the outcome by git's line for the ref; see git-push, "Output". */
  async #failedPush(error: GitError, pushed: PushOrder & { refspec: string }): Promise<PushOutcome> {
    const { complaint = '', output = '' } = error instanceof GitFailure ? error : {};
    const lines = output.toString().split('\n');
    const line = lines.find((one) => one.slice(1).startsWith(`\t${pushed.refspec}\t`)) ?? '';
    const [flag = '', , summary = ''] = line.split('\t');
    // Git also fails if the connection breaks after a successful push.
    if (/^[ +*=]$/.test(flag)) return { is: 'pushed' };
    const [, side, reason] = /^\[(remote )?rejected\] \((.*)\)$/.exec(summary) ?? [];
    if (reason === undefined) return await this.#withoutAnswer(error, complaint, pushed);
    // The local git rejects a push only if the branch is not at its old head.
    if (side === undefined) return this.#moved(pushed);
    return await this.#rejected({ reason, words: remoteWords(complaint) }, pushed);
  }

  /** Resolves with the outcome if git printed no line for the ref. */
  async #withoutAnswer(error: GitError, complaint: string, { branch, commit }: PushOrder): Promise<PushOutcome> {
    const { message: reason } = this.#explained(error, 'pushed to') as GitError;
    if (NOTHING_SENT.test(complaint) && !WAS_SENT.test(complaint)) {
      return { is: NOT_ALLOWED.test(complaint) ? 'refused' : 'not sent', reason };
    }
    // Only a success is certain: otherwise the remote may still be working.
    const head = await this.find(branch).catch(() => undefined);
    return head === commit ? { is: 'pushed' } : this.#unknown(reason);
  }

  /** After a lost answer, curl repeats a request, so the remote may reject a push that it accepted before. */
  async #rejected(
    refusal: { readonly reason: string; readonly words: string },
    pushed: PushOrder,
  ): Promise<PushOutcome> {
    const head = await this.find(pushed.branch).catch(() => undefined);
    if (head === pushed.commit) return { is: 'pushed' };
    if ((head ?? null) !== pushed.old) return pushed.old === null ? this.#moved(pushed) : this.#unknown(refusal.reason);
    const { reason, words } = refusal;
    if (LOCKED.test(reason) && !CANNOT_WRITE.test(words)) return this.#moved(pushed);
    return { is: 'refused', reason: explainRefusal(this.name, refusal) };
  }

  #moved({ branch, old }: Pick<PushOrder, 'branch' | 'old'>): PushOutcome {
    if (old !== null) return { is: 'moved' };
    const advice = 'which is left alone: try again';
    return { is: 'refused', reason: `"${this.name}" has another branch "${branch}" already, ${advice}` };
  }

  #unknown(reason: string): PushOutcome {
    return { is: 'unknown', reason: `it is not known whether "${this.name}" took the push: ${reason}` };
  }

  async #run(directory: string | undefined, args: readonly string[], options: RunOptions): Promise<Buffer> {
    await this.#access.prepare();
    const { configFile, config, environment, redact } = this.#access;
    const git = new Git({ directory, configFile, environment });
    const { silenceMs } = this.#options.limits;
    const limits = { timeoutMs: 2 * silenceMs, outputBytesMax: REFS_BYTES_MAX, redact };
    return await git.run([...config, ...args], { ...limits, ...options });
  }

  #explained(error: unknown, done: 'read' | 'pushed to'): unknown {
    if (!(error instanceof GitFailure) && !isTimeout(error)) return error;
    const where = { name: this.name, isLocal: this.#isLocal, folder: dirname(this.#options.configFile) };
    return explainGitFailure(error as GitError, { ...where, done, places: this.#access.places });
  }

  async #explainMissing(branch: string, signal: AbortSignal | undefined): Promise<never> {
    const run = this.#run(undefined, ['ls-remote', '--heads', '--', this.name], { signal });
    const output = await run.catch((error: unknown) => {
      throw this.#explained(error, 'read');
    });
    const names = [...refsIn(output).keys()].map((ref) => ref.replace(/^refs\/heads\//, '')).sort(compareNames);
    throw missingBranch(this.name, { branch, names });
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof GitError && /did not end within/.test(error.message);
}

/** Returns the error for a branch that a repository does not have. It lists the existing branches. */
export function missingBranch(
  repository: string,
  { branch, names }: { readonly branch: string; readonly names: readonly string[] },
): GitError {
  if (names.length === 0) {
    // For git, a sign-in page looks like a repository without refs.
    const page = /^https?:/.test(repository)
      ? ', or check repository.url: a web page instead of a repository looks the same'
      : '';
    return new GitError(`"${repository}" has no commits yet: push the first one to its branch "${branch}"${page}`);
  }
  const listed = names.slice(0, BRANCHES_NAMED_MAX).join(', ');
  const more = names.length > BRANCHES_NAMED_MAX ? ` and ${names.length - BRANCHES_NAMED_MAX} more` : '';
  const hint = didYouMean(branch, names);
  const advice = `${hint === null ? '' : `; ${hint}`} (its branches: ${listed}${more})`;
  return new GitError(`"${repository}" has no branch "${branch}"${advice}`);
}

/** Returns the object ids by ref. */
function refsIn(output: Buffer): ReadonlyMap<string, string> {
  const lines = output.toString().split('\n');
  const refs = lines.flatMap((line) => {
    const [oid = '', ref] = line.split('\t');
    return ref !== undefined && isCommitId(oid) ? [[ref, oid] as const] : [];
  });
  return new Map(refs);
}

/** Returns the output of the remote and its hooks. */
function remoteWords(complaint: string): string {
  const lines = complaint.split('\n').filter((line) => line.startsWith('remote:'));
  return oneLine(lines.map((line) => line.slice('remote:'.length)).join('\n'));
}
