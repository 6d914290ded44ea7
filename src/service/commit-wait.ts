// Holds reads that require a commit until that commit is followed. See docs/rest.md, answers.
import { type Clock, within } from '../clock.ts';
import type { DesiredState, RefusedCommit } from '../desired/desired-state.ts';
import { ServiceError } from '../model/service-error.ts';
import type { BranchView } from './write/branch-view.ts';

interface CommitWaitOptions extends Pick<BranchView, 'desiredAt' | 'isAncestor'> {
  /** The active desired state, or undefined before the first good commit. */
  readonly desired: () => DesiredState | undefined;
  /** The newest commit, if it is not followed. */
  readonly refused: () => RefusedCommit | undefined;
  readonly clock: Clock;
}

/** Waits for commits to be followed, for reads. */
export interface CommitWait {
  /**
   * Resolves once a commit, or one after it, is followed. Throws ServiceError `invalid_input` where the branch has no such
   * commit, and `not_ready` where it is not followed within 10 s or will not be, or where too many wait already.
   */
  reached(commit: string): Promise<void>;
  /** Rejects every waiting read. */
  stop(): void;
}

/** How long a read waits for its commit. */
export const WAIT_MS = 10_000;
/** How many reads wait at once. */
export const WAITERS_MAX = 100;

/** The end of a wait for a commit. */
type End = { readonly kind: 'reached' } | { readonly kind: 'failed'; readonly error: unknown };

/** Returns the one place where reads wait. */
export function createCommitWait(options: CommitWaitOptions): CommitWait {
  const { desiredAt, isAncestor, desired, clock } = options;
  const stopped = Promise.withResolvers<End>();
  /** The waits for a commit to be followed that are under way, also those that no read waits for any more. */
  let open = 0;

  async function isReached(commit: string): Promise<boolean> {
    const followed = desired()?.commit;
    return followed !== undefined && (followed === commit || (await isAncestor(commit, followed)));
  }

  async function arrival(commit: string): Promise<End> {
    open += 1;
    try {
      await desiredAt(commit);
      return { kind: 'reached' };
    } catch (error) {
      return { kind: 'failed', error };
    } finally {
      open -= 1;
    }
  }

  return {
    async reached(commit) {
      if (await isReached(commit)) return;
      if (open >= WAITERS_MAX) {
        throw new ServiceError('not_ready', `${WAITERS_MAX} reads wait for commits already; try again`);
      }
      const end = await within(clock, WAIT_MS, Promise.race([arrival(commit), stopped.promise]));
      if (end === undefined) throw late(commit);
      if (end.kind === 'failed') throw await failureOf(commit, end.error, options);
    },
    stop() {
      stopped.resolve({ kind: 'failed', error: new ServiceError('not_ready', 'The controller is stopping') });
    },
  };
}

function late(commit: string): ServiceError {
  return new ServiceError('not_ready', `The commit ${commit} is not followed yet; try again`);
}

/** A commit that was looked for and is not followed: there is none, or a person has to settle something first. */
async function failureOf(commit: string, error: unknown, { refused, isAncestor }: CommitWaitOptions): Promise<unknown> {
  if (!(error instanceof ServiceError) || error.code !== 'conflict') return error;
  const newest = refused()?.commit;
  if (newest !== undefined && (newest === commit || (await isAncestor(commit, newest)))) {
    return new ServiceError(
      'not_ready',
      `The newest commit ${newest} is not followed, so ${commit} is not; GET /operations/status says why`,
    );
  }
  return new ServiceError('invalid_input', `The followed branch has no commit ${commit}; was it pushed there?`);
}
