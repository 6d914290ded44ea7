// Keeps the requests that wait for a commit to be followed, and settles them after each poll. A write is answered once
// reads show its commit or a later one.

import { reasonOf } from '../base/wording.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import { ServiceError } from '../model/service-error.ts';
import type { CurrentState } from './current-state.ts';

/** The requests that wait for a commit. */
export class Arrivals {
  readonly #current: CurrentState;
  readonly #isAncestor: (ancestor: string, descendant: string) => Promise<boolean>;
  /** The end of the poll under way. */
  #present = endOfPoll();
  /** The end of the next poll: only one that begins after a request can have found its commit. */
  #next = endOfPoll();
  #isStopped = false;

  constructor(current: CurrentState, isAncestor: (ancestor: string, descendant: string) => Promise<boolean>) {
    this.#current = current;
    this.#isAncestor = isAncestor;
  }

  /**
   * Resolves with the desired state once a commit, or one after it, is followed. Throws ServiceError where it is not.
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

  /** Notes that a poll begins. */
  begin(): void {
    this.#present = this.#next;
    this.#next = endOfPoll();
  }

  /** Settles the requests that came before the poll began. */
  polled(): void {
    this.#present.resolve();
  }

  /** Rejects the requests that came before the poll began: it has failed. */
  failed(error: unknown): void {
    this.#present.reject(notReady(error));
  }

  /** Rejects all requests: no more polls follow. */
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

  /** Returns the desired state that is active after a poll, if it has the commit that was waited for. */
  async #found(commit: string | null): Promise<DesiredState> {
    const desired = this.#current.get();
    const refused = this.#current.refused;
    // A branch that went back is refused, although its head comes before what is followed.
    const isRefused = refused !== undefined && (commit ?? refused.commit) === refused.commit;
    const isThere = desired !== undefined && (commit === null || (await this.#isAncestor(commit, desired.commit)));
    if (isThere && !isRefused) return desired;
    throw notFollowed(refused?.commit ?? commit, refused?.reason);
  }
}

function endOfPoll(): PromiseWithResolvers<void> {
  const end = Promise.withResolvers<void>();
  // Nobody may wait for it.
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

/** Returns the error for a poll that failed, also by a conflict in the store: the request has no answer yet. */
function notReady(error: unknown): ServiceError {
  const reason = reasonOf(error);
  return new ServiceError('not_ready', `The repository cannot be followed at the moment: ${reason}`);
}
