// Holds a write that waits for its answer, up to a time limit. It is answered once; later answers are ignored.
import type { Clock } from '../../base/clock.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { PushOutcome } from '../../repository/publisher.ts';
import type { Draft, WriteOrder, WriteResult } from './draft.ts';

/** A write gives up after this long without the repository. */
export const GIVE_UP_MS = 15_000;

/** Returns the answer to a write that has given up. */
export function nothingWritten(): ServiceError {
  const message = `The repository took no commit within ${GIVE_UP_MS / 1000} s; nothing was written`;
  return new ServiceError('not_ready', message);
}

/** Takes back what was noted before a push, where that did not reach the branch. */
export type TakeBack = () => Promise<void>;

/** A write as it was requested. */
export interface WriteRequest {
  readonly draft: Draft;
  readonly order: WriteOrder;
  /** See WriteQueue.submit. */
  readonly beforePush?: (() => Promise<TakeBack>) | undefined;
}

/** A write that was asked for, and its answer. */
export class PendingWrite {
  readonly request: WriteRequest;
  /** Resolves once the write is on the remote and followed here. */
  readonly answer: Promise<WriteResult>;
  readonly #settle: PromiseWithResolvers<WriteResult>;
  readonly #cancelTimer: () => void;
  #isOverdue = false;
  #isUnderWay = false;
  #isSettled = false;

  constructor(request: WriteRequest, clock: Clock) {
    this.request = request;
    this.#settle = Promise.withResolvers<WriteResult>();
    this.answer = this.#settle.promise;
    this.#cancelTimer = clock.after(GIVE_UP_MS, () => this.#giveUp());
  }

  /** Returns false where it has been answered. Else it may be on its way from now on, so that it cannot give up. */
  begin(): boolean {
    this.#isUnderWay = !this.#isSettled;
    return this.#isUnderWay;
  }

  /** Notes that it is certainly not on the remote: it may give up again. */
  goBack(): void {
    this.#isUnderWay = false;
    if (this.#isOverdue) this.#giveUp();
  }

  resolve(written: WriteResult): void {
    this.#end();
    this.#settle.resolve(written);
  }

  reject(error: unknown): void {
    this.#end();
    this.#settle.reject(error);
  }

  /** Answers it because the controller ends, without a guess. */
  abandon(): void {
    const { requestId } = this.request.order;
    if (this.#isUnderWay) this.reject(outcomeUnknown('The controller stops before the answer is there', requestId));
    else this.reject(new ServiceError('not_ready', 'The controller is stopping; nothing was written'));
  }

  #giveUp(): void {
    this.#isOverdue = true;
    if (this.#isUnderWay) return;
    this.reject(nothingWritten());
  }

  #end(): void {
    this.#isSettled = true;
    this.#cancelTimer();
  }
}

/** What became of a push that is over and did not bring its commits to the branch. */
type FailedPush = Exclude<PushOutcome, { readonly is: 'pushed' | 'moved' }>;

/** Returns the client's answer for a push that failed. */
export function explainFailedPush(push: FailedPush, requestId: string): ServiceError {
  switch (push.is) {
    case 'refused':
      return new ServiceError(push.byHand === true ? 'edit_by_hand' : 'push_refused', push.reason);
    case 'not sent':
      return new ServiceError('not_ready', `The repository cannot be reached: ${push.reason}; nothing was written`);
    case 'unknown':
      return outcomeUnknown(`It is not known whether the commit arrived: ${push.reason}`, requestId);
  }
}

/** Returns the answer to a write that may be on the remote, or is there and cannot be seen here yet. */
export function outcomeUnknown(reason: string, requestId: string): ServiceError {
  const advice = `look for "Treeline-Request-Id: ${requestId}" in the log of the repository before you write it again`;
  return new ServiceError('outcome_unknown', `${reason}; ${advice}`);
}
