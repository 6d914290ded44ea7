// Keeps the requests that wait until a commit is followed, and settles them after each poll. A write is answered once
// reads show its commit or a later one.

import { reasonOf } from '../base/wording.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import { ServiceError } from '../model/service-error.ts';
import type { CurrentState } from './current-state.ts';

/** The requests that wait for a commit. */
export class Arrivals {
  readonly #current: CurrentState;
  readonly #isAncestor: (ancestor: string, descendant: string) => Promise<boolean>;
  /** The end of the running poll. */
  #present = endOfPoll();
  /** The end of the next poll. A request waits for a poll that begins after it, which is certain to find its commit. */
  #next = endOfPoll();
  #isStopped = false;

  constructor(current: CurrentState, isAncestor: (ancestor: string, descendant: string) => Promise<boolean>) {
    this.#current = current;
    this.#isAncestor = isAncestor;
  }

  /**
   * Resolves with the desired state once a commit, or a later one, is followed. Throws ServiceError if it is not
   * followed.
   */
  async wait(commit: string, poll: () => void): Promise<DesiredState> {
    const desired = this.#current.get();
    return desired?.commit === commit ? desired : await this.#polled(commit, poll);
  }

  /**
   * Resolves with the desired state of the commit that the next poll finds. Throws ServiceError if that commit is not
   * followed.
   */
  newest(poll: () => void): Promise<DesiredState> {
    return this.#polled(null, poll);
  }

  /** Records that a poll begins. */
  begin(): void {
    this.#present = this.#next;
    this.#next = endOfPoll();
  }

  /** Settles the requests from before the start of the poll. */
  polled(): void {
    this.#present.resolve();
  }

  /** Rejects the requests from before the start of the poll, which has failed. */
  failed(error: unknown): void {
    this.#present.reject(notReady(error));
  }

  /** Rejects all requests, because no more polls follow. */
  stop(): void {
    this.#isStopped = true;
    this.#present.reject(stopping());
    this.#next.reject(stopping());
  }

  async #polled(commit: string | null, poll: () => void): Promise<DesiredState> {
    if (this.#isStopped) throw stopping();
    const { promise } = this.#next;
    poll();
    await promise;
    try {
      return await this.#found(commit);
    } catch (error) {
      throw error instanceof ServiceError ? error : notReady(error);
    }
  }

  /** Returns the active desired state after a poll, if it includes the commit. */
  async #found(commit: string | null): Promise<DesiredState> {
    const desired = this.#current.get();
    const refused = this.#current.refused;
    // If the branch went back, its head is refused although it is an ancestor of the followed commit.
    const isRefused = refused !== undefined && (commit ?? refused.commit) === refused.commit;
    const isThere = desired !== undefined && (commit === null || (await this.#isAncestor(commit, desired.commit)));
    if (isThere && !isRefused) return desired;
    throw notFollowed(refused?.commit ?? commit, refused?.reason);
  }
}

function endOfPoll(): PromiseWithResolvers<void> {
  const end = Promise.withResolvers<void>();
  // Prevents an unhandled rejection if no request waits.
  end.promise.catch(() => undefined);
  return end;
}

function notFollowed(commit: string | null, reason = 'the branch does not have it'): ServiceError {
  const which = commit === null ? 'The newest commit' : `The newest commit ${commit}`;
  return new ServiceError(
    'conflict',
    `${which} is not followed: ${reason}. Nothing can be written before that is settled`,
  );
}

function stopping(): ServiceError {
  return new ServiceError('not_ready', 'The controller is stopping');
}

/**
 * Returns the error for a failed poll. A conflict in the store counts as failure, too: the request has no result yet.
 */
function notReady(error: unknown): ServiceError {
  const reason = reasonOf(error);
  return new ServiceError('not_ready', `The repository cannot be followed at the moment: ${reason}`);
}
