// Delays reads that require a commit until that commit is followed. See docs/rest.md, answers.
import { type Clock, within } from '../../base/clock.ts';
import { type ShareLimits, Shares } from '../../base/shares.ts';
import type { DesiredState, RefusedCommit } from '../../desired/desired-state.ts';
import { ServiceError } from '../../model/service-error.ts';

interface CommitWaitOptions {
  /** Polls the branch, and resolves when the poll has ended. Throws like Follower.newest. */
  readonly newest: () => Promise<unknown>;
  /** Returns whether `descendant` is `ancestor` or comes after it. `ancestor` may be missing locally. */
  readonly isAncestor: (ancestor: string, descendant: string) => Promise<boolean>;
  /** The active desired state, or undefined before the first good commit. */
  readonly desired: () => DesiredState | undefined;
  /** The newest commit, if it is not followed. */
  readonly refused: () => RefusedCommit | undefined;
  readonly clock: Clock;
}

/** Lets reads wait until a commit is followed. */
export type CommitWait = ReturnType<typeof createCommitWait>;

/** The limit of a read's wait for its commit. */
export const WAIT_MS = 10_000;
/** Waiting reads. A read counts until its poll has ended, even if it was answered before. */
export const WAITS: ShareLimits = { ofClient: 50, waitingOfClient: 50 };
/** Queries of the history: each may start a git process. */
const QUESTIONS: ShareLimits = { ofClient: 1, waitingOfClient: 2 * WAITS.ofClient };

/** Returns the place where reads wait. There is one for each process. */
export function createCommitWait({ newest, isAncestor, desired, refused, clock }: CommitWaitOptions) {
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  const waits = new Shares(WAITS);
  const questions = new Shares(QUESTIONS);

  async function isIn(history: string | undefined, { commit, client }: Wanted): Promise<boolean> {
    if (history === undefined || history === commit) return history === commit;
    return await questions.run(client, () => isAncestor(commit, history));
  }

  /**
   * Resolves with true when a commit is followed. Ignores `conflict`: then the poll succeeded, but the head is not
   * followed.
   */
  async function arrival(wanted: Wanted): Promise<true> {
    if (await isIn(desired()?.commit, wanted)) return true;
    await newest().catch((error: unknown) => {
      if (!(error instanceof ServiceError) || error.code !== 'conflict') throw error;
    });
    if (await isIn(desired()?.commit, wanted)) return true;
    if (await isIn(refused()?.commit, wanted)) throw notFollowed(wanted, refused()?.commit);
    throw unknownCommit(wanted);
  }

  return {
    /**
     * Resolves when a commit, or one after it, is followed. Throws ServiceError `invalid_input` if the branch has no
     * such commit, `not_ready` if it is not followed within 10 s or never will be, and `too_many_requests` if too many
     * reads of the client already wait.
     */
    async reached(commit: string, client: string): Promise<void> {
      if (desired()?.commit === commit) return;
      const waiting = waits.run(client, () => arrival({ commit, client }));
      const isReached = await within(clock, WAIT_MS, Promise.race([waiting, stopped.promise]));
      if (isReached === undefined) throw late(commit);
    },
    /** Rejects every waiting read. */
    stop(): void {
      stopped.reject(new ServiceError('not_ready', 'The controller is stopping'));
    },
  };
}

/** The commit that a read of a client waits for. */
interface Wanted {
  readonly commit: string;
  readonly client: string;
}

function late(commit: string): ServiceError {
  return new ServiceError('not_ready', `The commit ${commit} is not followed yet; try again`);
}

/** Returns the error for a commit that cannot be followed before an operator acts. */
function notFollowed({ commit }: Wanted, newest: string | undefined): ServiceError {
  return new ServiceError(
    'not_ready',
    `The newest commit ${newest} is not followed, so ${commit} is not; GET /operations/status says why`,
  );
}

function unknownCommit({ commit }: Wanted): ServiceError {
  return new ServiceError('invalid_input', `The followed branch has no commit ${commit}; was it pushed there?`);
}
