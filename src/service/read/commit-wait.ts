// Holds reads that require a commit until that commit is followed. See docs/rest.md, answers.
import { type Clock, within } from '../../base/clock.ts';
import { type ShareLimits, Shares } from '../../base/shares.ts';
import type { DesiredState, RefusedCommit } from '../../desired/desired-state.ts';
import { ServiceError } from '../../model/service-error.ts';

interface CommitWaitOptions {
  /** Asks for a poll of the branch, and resolves once it is over. Throws like Follower.newest. */
  readonly newest: () => Promise<unknown>;
  /** Returns whether `descendant` is `ancestor` or comes after it. `ancestor` need not be here. */
  readonly isAncestor: (ancestor: string, descendant: string) => Promise<boolean>;
  /** The active desired state, or undefined before the first good commit. */
  readonly desired: () => DesiredState | undefined;
  /** The newest commit, if it is not followed. */
  readonly refused: () => RefusedCommit | undefined;
  readonly clock: Clock;
}

/** Waits for commits to be followed, for reads. */
export type CommitWait = ReturnType<typeof createCommitWait>;

/** How long a read waits for its commit. */
export const WAIT_MS = 10_000;
/** Reads that wait. One counts until its poll is over, also where it was sent away before. */
export const WAITS: ShareLimits = { ofClient: 50, waitingOfClient: 50 };
/** Questions to git about the history: one may start a process. */
const QUESTIONS: ShareLimits = { ofClient: 1, waitingOfClient: 2 * WAITS.ofClient };

/** Returns the one place where reads wait. */
export function createCommitWait({ newest, isAncestor, desired, refused, clock }: CommitWaitOptions) {
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  const waits = new Shares(WAITS);
  const questions = new Shares(QUESTIONS);

  async function isIn(history: string | undefined, { commit, client }: Wanted): Promise<boolean> {
    if (history === undefined || history === commit) return history === commit;
    return await questions.run(client, () => isAncestor(commit, history));
  }

  /** Resolves with true once a commit is followed. A poll that found a commit which is not followed is a poll. */
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
     * Resolves once a commit, or one after it, is followed. Throws ServiceError `invalid_input` where the branch has no
     * such commit, `not_ready` where it is not followed within 10 s or will not be, and `too_many_requests` where too
     * many reads of the client wait already.
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

/** An operator has to settle something first. */
function notFollowed({ commit }: Wanted, newest: string | undefined): ServiceError {
  return new ServiceError(
    'not_ready',
    `The newest commit ${newest} is not followed, so ${commit} is not; GET /operations/status says why`,
  );
}

function unknownCommit({ commit }: Wanted): ServiceError {
  return new ServiceError('invalid_input', `The followed branch has no commit ${commit}; was it pushed there?`);
}
