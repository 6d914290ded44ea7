// Classifies a remote's refusal of a push: the branch has moved, or a person has to act on the remote first.
import { reasonOf } from '../../base/wording.ts';
import type { PushOutcome } from '../publisher.ts';

interface PushRefusal {
  /** The repository's name, for messages. */
  readonly name: string;
  readonly branch: string;
  /** True if the push creates the branch. */
  readonly isNew: boolean;
  /** Git's own, such as `pre-receive hook declined`. */
  readonly reason: string;
  /** The output of hooks and git on the remote. */
  readonly words: string;
}

const WORDS_MAX = 1000;

/** Another push was first, or is in progress. */
const MOVED =
  /^(non-fast-forward|fetch first|stale info|already exists|needs force|failed to (update ref|lock)|cannot lock ref|reference already exists|incorrect old value)/i;
/** Git gives the same reasons if it cannot write at all, and if a hook refused. */
const CANNOT_WRITE =
  /permission denied|insufficient permission|unable to create temporary object directory|read-only file system|no space left|quota exceeded/i;
const ABORTED = /aborted by .*hook/i;

/** The first match counts. `words`: the remote's output is included; git's own long explanation is not. */
const ADVICE: readonly { readonly fits: RegExp; readonly advice: string; readonly words: boolean }[] = [
  {
    fits: /is currently checked out/,
    advice:
      'its owner runs "git config receive.denyCurrentBranch updateInstead" there, or Treeline follows a bare repository instead',
    words: false,
  },
  {
    fits: /staged changes|untracked|working tree|up-to-date check|update-index/i,
    advice: 'commit or take back there what is checked out and changed',
    words: true,
  },
  {
    fits: CANNOT_WRITE,
    advice: 'see the permissions and the disk there: the user that pushes has to be able to write to it',
    words: true,
  },
  {
    fits: /protected branch|protected ref|GH006|GH013|not allowed to push/i,
    advice:
      'the branch is protected: let the user that pushes through, or choose another way of writing (repository.writes)',
    words: true,
  },
  { fits: /hook/, advice: 'a hook of the repository has refused it', words: true },
  { fits: /./, advice: 'see the settings of the repository', words: true },
];

/** Returns the outcome for a refusal: the branch has moved, or another reason in the repository's own words. */
export function judgeRefusal(refusal: PushRefusal): PushOutcome {
  const { name, branch, isNew, reason } = refusal;
  const words = oneLine(refusal.words);
  const said = `${reason} ${words}`;
  if (MOVED.test(reason) && !CANNOT_WRITE.test(said) && !ABORTED.test(said)) {
    return isNew ? branchExists(name, branch) : { is: 'moved' };
  }
  const found = ADVICE.find(({ fits }) => fits.test(said));
  const quoted = found?.words === true && words !== '' ? `: ${words}` : '';
  return refused(`"${name}" refuses the push to ${branch} (${reason}): ${found?.advice}${quoted}`);
}

/** Returns a refusal. */
export function refused(reason: string): PushOutcome {
  return { is: 'refused', reason };
}

/** Returns the outcome of a push that was sent and not answered. */
export function unknownOutcome(name: string, cause: unknown): PushOutcome {
  const reason = reasonOf(cause);
  return { is: 'unknown', reason: `it is not known whether "${name}" took the push: ${reason}` };
}

/** Returns the outcome for a new branch whose name is taken. */
export function branchExists(name: string, branch: string): PushOutcome {
  return refused(`"${name}" has another branch "${branch}" already, which is left alone: try again`);
}

/** Returns the text without colours and other control characters, which hooks print for a terminal. */
function oneLine(words: string): string {
  return words
    .replace(/\p{Cc}\[[0-9;]*[A-Za-z]/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, WORDS_MAX);
}
