// Keeps the requests that wait for a commit to be followed, and settles them after each poll. A write is answered once
// reads show its commit or a later one.

import { reasonOf } from '../base/wording.ts';
import type { DesiredState } from '../desired/desired-state.ts';
import { ServiceError } from '../model/service-error.ts';
import type { CurrentState } from './current-state.ts';

interface Waiter {
  /** Null: whatever is the newest. */
  readonly commit: string | null;
  /** How many polls had begun when it came: only a later one can have found its commit. */
  readonly after: number;
  readonly resolve: (desired: DesiredState) => void;
  readonly reject: (error: unknown) => void;
}

/** The requests that wait for a commit. */
export class Arrivals {
  readonly #current: CurrentState;
  readonly #isAncestor: (ancestor: string, descendant: string) => Promise<boolean>;
  #waiters: Waiter[] = [];
  #begun = 0;
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
    return desired?.commit === commit ? desired : await this.#next(commit, poll);
  }

  /**
   * Resolves with the desired state of the commit that the next poll finds. Throws ServiceError if that commit is not
   * followed.
   */
  newest(poll: () => void): Promise<DesiredState> {
    return this.#next(null, poll);
  }

  /** Notes that a poll begins. */
  begin(): void {
    this.#begun += 1;
  }

  /** Settles the requests that came before the poll began. */
  async polled(): Promise<void> {
    for (const { commit, resolve, reject } of this.#takeDue()) {
      try {
        resolve(await this.#found(commit));
      } catch (error) {
        reject(error instanceof ServiceError ? error : notReady(error));
      }
    }
  }

  /** Rejects the requests that came before the poll began: it has failed. */
  failed(error: unknown): void {
    for (const { reject } of this.#takeDue()) reject(notReady(error));
  }

  /** Rejects all requests: no more polls follow. */
  stop(): void {
    this.#isStopped = true;
    for (const { reject } of this.#waiters.splice(0)) reject(stopping());
  }

  async #next(commit: string | null, poll: () => void): Promise<DesiredState> {
    if (this.#isStopped) throw stopping();
    const { promise, resolve, reject } = Promise.withResolvers<DesiredState>();
    this.#waiters.push({ commit, after: this.#begun, resolve, reject });
    poll();
    return await promise;
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

  /** Removes and returns the requests whose poll is over; later ones wait for another. */
  #takeDue(): readonly Waiter[] {
    const due = this.#waiters.filter(({ after }) => after < this.#begun);
    this.#waiters = this.#waiters.filter(({ after }) => after >= this.#begun);
    return due;
  }
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
