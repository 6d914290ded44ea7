// Checks the signatures of commits with git, which runs ssh-keygen and gpg, and signs the bytes of new commits.
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { whyUnusable } from '../base/wording.ts';
import type { RepositorySettings } from '../model/settings.ts';
import { Git, GitError, inherit } from './run-git.ts';
import type { BadSignature, Signatures } from './source.ts';

type Verify = NonNullable<RepositorySettings['verify']>;
type GitConfig = readonly (readonly [key: string, value: string])[];

interface CheckedSignature {
  readonly commit: string;
  /** Git's letter for the outcome, as in `%G?`; see VALID. */
  readonly outcome: string;
  /** The id of a GPG key, or the SHA-256 fingerprint of an ssh key; '' if there is none. */
  readonly key: string;
  readonly signer: string;
  readonly author: string;
}

type IsMeant = (signature: CheckedSignature) => boolean;

const run = promisify(execFile);
/** Git's letter for a valid signature. */
const VALID = 'G';
/** The number of commits that one git process checks. */
const COMMITS_MAX = 100;
const PROGRAM_MS = 10_000;
const SHOWN_MAX = 100;
const FORMAT = '%H%x09%G?%x09%GK%x09%GS%x09%an';
const SSH_KEY = 'SHA256:';
/** Disables a kind of signature: the program fails, so that git reports the commit as not signed. */
const REFUSE: GitConfig = ['gpg.openpgp', 'gpg.ssh', 'gpg.x509'].map((format) => [`${format}.program`, 'false']);
/** Trusts every key in the keyring, and retrieves no keys from a server. */
const GPG_CONFIG = 'trust-model always\nno-auto-key-retrieve\n';

/**
 * Checks commits of the local copy according to the setting `repository.verify`. Reads the files of the setting each
 * time.
 */
export class SignatureCheck implements Signatures {
  readonly #verify: Verify;
  readonly #directory: string;

  /** `directory`: the git directory of the local copy. */
  constructor(verify: Verify, directory: string) {
    this.#verify = verify;
    this.#directory = directory;
  }

  async firstBad(commits: readonly string[]): Promise<BadSignature | undefined> {
    const bad = await this.#find(commits, ({ outcome }) => outcome !== VALID);
    return bad && { commit: bad.commit, reason: this.#describe(bad) };
  }

  async signerOf(commit: string): Promise<string | null> {
    return (await this.#find([commit], ({ outcome }) => outcome === VALID))?.signer ?? null;
  }

  async #find(commits: readonly string[], isMeant: IsMeant): Promise<CheckedSignature | undefined> {
    if (commits.length === 0) return undefined;
    const { allowedSigners, keyring } = this.#verify;
    if (allowedSigners !== null) await requireFile('allowedSigners', allowedSigners);
    if (keyring === null) return await this.#search(commits, isMeant);
    await requireFile('keyring', keyring);
    // A private home, because git would accept every key of the user of this process.
    const home = await mkdtemp(join(tmpdir(), 'treeline-gpg-'));
    try {
      await writeFile(join(home, 'gpg.conf'), GPG_CONFIG);
      await importKeys(home, keyring);
      return await this.#search(commits, isMeant, { GNUPGHOME: home });
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  }

  async #search(
    commits: readonly string[],
    isMeant: IsMeant,
    environment: Record<string, string> = {},
  ): Promise<CheckedSignature | undefined> {
    const { allowedSigners, keyring } = this.#verify;
    const config = new Map(REFUSE);
    if (keyring !== null) config.set('gpg.openpgp.program', 'gpg');
    if (allowedSigners !== null) {
      config.set('gpg.ssh.program', 'ssh-keygen').set('gpg.ssh.allowedSignersFile', allowedSigners);
    }
    const options = [...config].flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    const git = new Git({ directory: this.#directory, environment });
    for (let at = 0; at < commits.length; at += COMMITS_MAX) {
      const input = commits.slice(at, at + COMMITS_MAX).join('\n');
      const log = await git.text([...options, 'log', '--no-walk=unsorted', '--stdin', `--format=${FORMAT}`], { input });
      const found = log.split('\n').map(parseLine).find(isMeant);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #describe({ commit, outcome, key, signer, author }: CheckedSignature): string {
    const subject = `commit ${commit.slice(0, 10)} by ${author}`;
    const by = `the key ${key} of ${signer}`;
    const setting = `repository.verify.${key.startsWith(SSH_KEY) ? 'allowedSigners' : 'keyring'}`;
    switch (outcome) {
      case 'N':
        return `${subject} is not signed${this.#kind()}`;
      case 'U':
      case 'E':
        return `${subject} is signed with the key ${key}, which ${setting} does not list, or not for its time`;
      case 'X':
        return `${subject} has a signature of ${by} that has expired`;
      case 'Y':
        return `${subject} is signed with ${by}, which has expired`;
      case 'R':
        return `${subject} is signed with ${by}, which was revoked`;
      default:
        return `${subject} has a wrong signature${signer === '' ? '' : ` of ${signer}`}: it was changed after it was signed`;
    }
  }

  #kind(): string {
    const { allowedSigners, keyring } = this.#verify;
    if (keyring === null) return ' with an ssh key';
    return allowedSigners === null ? ' with a GPG key' : '';
  }
}

/**
 * Returns the function that signs the bytes of a commit with an ssh key. It throws GitError with advice if the key
 * cannot be used.
 */
export function createSigner(keyFile: string): (bytes: Buffer) => Promise<string> {
  return async (bytes) => {
    try {
      return await runProgram('ssh-keygen', ['-Y', 'sign', '-n', 'git', '-f', keyFile], { input: bytes });
    } catch (error) {
      const advice = 'it has to be a private key without a passphrase that only the user of the controller may read';
      throw unusable(`repository.sign.sshKeyFile cannot be used: ${keyFile}: ${advice}`, error);
    }
  };
}

function parseLine(line: string): CheckedSignature {
  const [commit = '', outcome = '', key = '', signer = '', author = ''] = line.split('\t');
  return { commit, outcome, key, signer: signer.slice(0, SHOWN_MAX), author: author.slice(0, SHOWN_MAX) };
}

async function requireFile(key: string, file: string): Promise<void> {
  try {
    await access(file, constants.R_OK);
  } catch (error) {
    const reason = whyUnusable(error);
    throw new GitError(`repository.verify.${key} cannot be read: ${file}: ${reason}`, { cause: error });
  }
}

async function importKeys(home: string, keyring: string): Promise<void> {
  try {
    await runProgram('gpg', ['--batch', '--no-autostart', '--import', keyring], { environment: { GNUPGHOME: home } });
  } catch (error) {
    throw unusable(`repository.verify.keyring cannot be used: ${keyring}: make it with "gpg --export"`, error);
  }
}

async function runProgram(
  program: string,
  args: readonly string[],
  { input = '', environment = {} }: { readonly input?: Buffer | string; readonly environment?: Record<string, string> },
): Promise<string> {
  // Prevents prompts for a passphrase.
  const fixed = { LC_ALL: 'C', SSH_ASKPASS: 'false', SSH_ASKPASS_REQUIRE: 'force' };
  const env = { ...inherit(['PATH', 'HOME']), ...fixed, ...environment };
  const running = run(program, args, { env, timeout: PROGRAM_MS });
  running.child.stdin?.on('error', () => running.child.stdin?.destroy());
  running.child.stdin?.end(input);
  return (await running).stdout;
}

/** Returns the error with the last line of the program's output. */
function unusable(message: string, cause: unknown): GitError {
  const printed = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : '';
  const detail = printed.split('\n').at(-1) || (cause instanceof Error ? cause.message : '');
  return new GitError(`${message} (${detail})`, { cause });
}
