// Turns what git prints into messages for the operator: one table of patterns with advice, and git's words behind it.
// docs/operate.md lists the same causes.
import { GitError, type GitFailure } from './run-git.ts';

interface Attempted {
  /** The repository as messages show it. */
  readonly name: string;
  readonly isLocal: boolean;
  /** What was tried. */
  readonly done: 'read' | 'pushed to';
  /** Where name and password are configured; undefined: access is anonymous. */
  readonly places: string | undefined;
}

interface Row {
  readonly fits: RegExp;
  /** After `"name" `. */
  readonly advice: string | ((attempted: Attempted) => string);
}

const WORDS_MAX = 1000;

/** The first match counts: messages of ssh and curl come before those that git derives from them. */
const ADVICE: readonly Row[] = [
  {
    fits: /No space left on device|Disk quota exceeded|Read-only file system/i,
    advice: 'cannot be copied: free space on the disk of the local copy, or repair it; it is tried again',
  },
  {
    fits: /signal 25|File too large|invalid index-pack output/i,
    advice: 'sends more than the limit for one fetch: follow a smaller repository, without large files in its history',
  },
  {
    fits: /requested URL returned error: 30\d|unable to update url base from redirection/i,
    advice: 'redirects, and redirects are not followed: write the new address as repository.url',
  },
  {
    fits: /proxy|CONNECT tunnel|returned error: 407/i,
    advice: 'cannot be reached through the proxy: check HTTPS_PROXY, as http://user:password@proxy:port',
  },
  {
    fits: /Authentication failed|could not read (?:Username|Password)|returned error: 401|HTTP Basic: Access denied/i,
    advice: ({ places }) =>
      places === undefined
        ? 'asks for a user name and a password: write them into files, and name these as ' +
          'repository.usernameFile and repository.passwordFile'
        : `does not accept the user name and password: check ${places}`,
  },
  {
    fits: /returned error: 403|permission to .* denied|write access|read[- ]?only|not allowed to|access denied|unauthorized/i,
    advice: ({ places, done }) =>
      `may not be ${done} by this user: allow it there, or check ${places ?? 'repository.passwordFile, or the key of ssh'}`,
  },
  {
    fits: /(?:server|SSL|issuer) certificate|certificate (?:subject|verif)|CAfile|trust anchors|SSL CA cert|tls/i,
    advice: 'has a certificate that cannot be verified: name its authority as repository.caFile, or check its dates',
  },
  {
    fits: /Could not resolve host/i,
    advice: 'has a host that the name service does not know: check repository.url',
  },
  {
    fits: /Connection refused|Failed to connect|Couldn't connect/i,
    advice: 'does not answer: check host and port of repository.url, and whether the server runs',
  },
  {
    fits: /No route to host|Network is unreachable/i,
    advice: 'cannot be reached: check the network of this machine',
  },
  {
    fits: /HOST IDENTIFICATION HAS CHANGED/i,
    advice: 'has another host key than before: find out why, and only then replace it in ~/.ssh/known_hosts',
  },
  {
    fits: /Host key verification failed/i,
    advice:
      'has a host key that is not known here: compare it with the one that the host publishes, and add it ' +
      'to ~/.ssh/known_hosts of the user that runs Treeline ("ssh-keyscan HOST" prints it)',
  },
  {
    fits: /Permission denied \(|Too many authentication failures/i,
    advice:
      'does not accept the key: give the user that runs Treeline a key in ~/.ssh without a passphrase, and allow its public half there',
  },
  {
    fits: /git-(?:upload|receive)-pack: (?:command )?not found/i,
    advice: 'is on a host without git on the PATH: install it there',
  },
  {
    fits: /cannot run ssh|: (?:line )?\d+: \S+: (?:command )?not found/i,
    advice: 'cannot be reached, since ssh is not on the PATH: install openssh-client',
  },
  {
    fits: /too slow|timed out|Timeout, server|did not end within/i,
    advice: 'did not answer in time, or stopped sending: it is tried again later',
  },
  {
    fits: /not found|does not appear to be a git repository|is this a git repository|not exist|returned error: (?:404|410)/i,
    advice: ({ places, isLocal }) => {
      if (isLocal) return 'is not a Git repository: name a bare one, or a directory with .git, that this user may read';
      return places === undefined
        ? 'is not a Git repository, or is not shown without a password: check repository.url, or set repository.passwordFile'
        : `is not a Git repository, or is not shown to this user: check repository.url, and what the user in ${places} may read`;
    },
  },
  { fits: /returned error: 429/i, advice: 'has had enough requests for now: raise repository.pollSeconds' },
  { fits: /returned error: 5\d\d/i, advice: 'fails: it is tried again later; see the log of the server or proxy' },
  {
    fits: /hung up|early EOF|reset by peer|disconnect|Empty reply|closed|kex_exchange_identification|transfer closed/i,
    advice: 'broke off the connection: it is tried again later',
  },
  {
    fits: /bad line length character|expected flush after ref listing/i,
    advice: 'answers with something other than Git, such as a sign-in page, or with a part of it: check repository.url',
  },
];

/** Returns the error with advice for a run of git that failed, and git's words behind it. */
export function explainGitFailure(error: GitError, attempted: Attempted): GitError {
  const words = oneLine('complaint' in error ? (error as GitFailure).complaint : error.message);
  const row = ADVICE.find(({ fits }) => fits.test(words));
  const { name, done } = attempted;
  if (row === undefined) {
    return new GitError(`"${name}" cannot be ${done}: ${words || error.message}`);
  }
  const advice = typeof row.advice === 'string' ? row.advice : row.advice(attempted);
  return new GitError(`"${name}" ${advice} (git: ${words})`);
}

/** Another push was first, or is in progress. */
const MOVED =
  /stale info|non-fast-forward|fetch first|already exists|needs force|failed to (?:update ref|lock)|cannot lock ref|incorrect old value/i;
/** Git gives the same reasons if it cannot write at all, and if a hook refused. */
const CANNOT_WRITE = new RegExp(
  [
    'permission denied',
    'insufficient permission',
    'unable to create temporary object directory',
    'read-only file system',
    'no space left',
    'quota exceeded',
  ].join('|'),
  'i',
);
const ABORTED = /aborted by .*hook/i;

const REFUSALS: readonly { readonly fits: RegExp; readonly advice: string }[] = [
  {
    fits: /is currently checked out|branch is currently checked/,
    advice:
      'its owner runs "git config receive.denyCurrentBranch updateInstead" there, or Treeline follows a bare repository instead',
  },
  {
    fits: /staged changes|untracked|working tree|up-to-date check|update-index/i,
    advice: 'commit or revert there the changes of the files that are checked out',
  },
  {
    fits: CANNOT_WRITE,
    advice: 'see the permissions and the disk there: the user that pushes has to be able to write to it',
  },
  {
    fits: /protected branch|protected ref|GH006|GH013|not allowed to push/i,
    advice: 'the branch is protected: let the user that pushes through, or set repository.writes to propose',
  },
  { fits: /shallow/i, advice: 'it is a shallow clone: push to a repository with the whole history' },
  { fits: /hook/, advice: 'a hook of the repository refused it' },
  { fits: /./, advice: 'see the settings of the repository' },
];

/**
 * Returns the reason why a remote refused a push; undefined if the branch has moved. `reason` is git's, `words` the
 * remote's.
 */
export function explainRefusal(name: string, { reason, words }: { readonly reason: string; readonly words: string }) {
  const said = `${reason} ${words}`;
  if (MOVED.test(reason) && !CANNOT_WRITE.test(said) && !ABORTED.test(said)) return undefined;
  const found = REFUSALS.find(({ fits }) => fits.test(said));
  const quoted = words === '' ? '' : `: ${words}`;
  return `"${name}" refuses the push (${reason}): ${found?.advice}${quoted}`;
}

/**
 * Returns git's words in one line, without its general advice and without the colours that hooks print for a terminal.
 */
export function oneLine(words: string): string {
  const lines = new Set(words.split('\n'));
  return [...lines]
    .join('\n')
    .replace(/Please make sure you have the correct access rights\s+and the repository exists\./, '')
    .replace(/^hint:.*$/gm, '')
    .replace(/\p{Cc}\[[0-9;]*[A-Za-z]/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, WORDS_MAX);
}
