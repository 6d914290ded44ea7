// Adds advice to git's messages if a setting or a file of the user has to change. Other messages are unchanged.
// docs/operate.md lists the same causes.
import { GitError, GitFailure } from './run-git.ts';

interface Attempted {
  /** The repository's name in messages. */
  readonly name: string;
  readonly isLocal: boolean;
  /** The failed operation. */
  readonly done: 'read' | 'pushed to';
  /** Where name and password are configured; undefined for anonymous access. */
  readonly places: string | undefined;
  /** The directory of the local copy. */
  readonly folder: string;
}

interface Row {
  readonly fits: RegExp;
  /** Follows `"name" `. */
  readonly advice: string | ((attempted: Attempted) => string);
}

const WORDS_MAX = 1000;

/** The first match wins, so messages of ssh and curl come before those that git derives from them. */
const ADVICE: readonly Row[] = [
  {
    // Excludes `remote:` lines: then the disk of the remote is full.
    fits: /^(?!.*\bremote: ).*(?:No space left on device|Disk quota exceeded)/i,
    advice: ({ done, folder }) =>
      `cannot be ${done}, because the disk of ${folder} is full: free space on it; it is tried again`,
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
    fits: /repository .*not found|does not appear to be a git repository|not exist|returned error: (?:404|410)/i,
    advice: ({ places, isLocal }) => {
      if (isLocal) return 'is not a Git repository: name a bare one, or a directory with .git, that this user may read';
      const user =
        places === undefined ? 'whether it needs repository.passwordFile' : `what the user in ${places} may read`;
      return `is not a Git repository, or is not shown to this user: check repository.url, and ${user}`;
    },
  },
];

/** Returns the error for a failed run of git: git's message, preceded by advice for some causes. */
export function explainGitFailure(error: GitError, attempted: Attempted): GitError {
  const words = oneLine(error instanceof GitFailure ? error.complaint : error.message);
  const advice = ADVICE.find(({ fits }) => fits.test(words))?.advice;
  const { name, done } = attempted;
  if (advice === undefined) return new GitError(`"${name}" cannot be ${done}: ${words || error.message}`);
  return new GitError(`"${name}" ${typeof advice === 'string' ? advice : advice(attempted)} (git: ${words})`);
}

/** Returns why a remote refused a push. `reason`: git's text; `words`: the remote's text. */
export function explainRefusal(name: string, { reason, words }: { readonly reason: string; readonly words: string }) {
  const quoted = words === '' ? '' : `: ${words}`;
  return `"${name}" refuses the push (${reason})${adviceFor(reason, words)}${quoted}`;
}

function adviceFor(reason: string, words: string): string {
  if (/currently checked out/.test(reason))
    return ': its owner runs "git config receive.denyCurrentBranch updateInstead" there, or Treeline follows a bare repository instead';
  if (/protected branch|protected ref|GH006|GH013|not allowed to push/i.test(`${reason} ${words}`))
    return ': the branch is protected: let the user that pushes through, or set repository.writes to propose';
  return '';
}

/**
 * Returns git's message on one line, without its general advice and without terminal colours of hooks.
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
