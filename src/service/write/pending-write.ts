// A write that waits for its answer, and the answers of failed writes. Only the first answer counts, since a promise
// settles once.
import type { Clock } from '../../base/clock.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { PushOutcome } from '../../repository/publisher.ts';
import type { Draft, WriteOrder, WriteResult } from './draft.ts';

/** How long a write waits for the repository. */
export const GIVE_UP_MS = 15_000;

/** Reverts what `BeforePush` recorded, if the push did not reach the branch. */
export type TakeBack = () => Promise<void>;

/** Records what the repository cannot contain, before a write is pushed to the branch. */
export type BeforePush = () => Promise<TakeBack>;

/** A requested write, and its answer. */
export interface PendingWrite extends PromiseWithResolvers<WriteResult> {
  readonly draft: Draft;
  readonly order: WriteOrder;
  readonly beforePush: BeforePush | undefined;
  /** Until when it waits for the repository, by the monotonic clock. */
  readonly until: number;
  /** True while the commit may be on the remote and the outcome is unknown. */
  isSent: boolean;
}

/** Returns a write that has no answer yet. */
export function pendingWrite(asked: Pick<PendingWrite, 'draft' | 'order' | 'beforePush'>, clock: Clock): PendingWrite {
  const until = clock.monotonic() + GIVE_UP_MS;
  return { ...asked, until, isSent: false, ...Promise.withResolvers<WriteResult>() };
}

/** Answers a write because the controller stops: `outcome_unknown` if it was sent. */
export function abandon({ isSent, order, reject }: PendingWrite): void {
  if (isSent) reject(outcomeUnknown('The controller stopped before the outcome was known', order.requestId));
  else reject(new ServiceError('not_ready', 'The controller is stopping; nothing was written'));
}

/** Returns the answer to a write that has given up. */
export function nothingWritten(): ServiceError {
  const message = `The repository took no commit within ${GIVE_UP_MS / 1000} s; nothing was written`;
  return new ServiceError('not_ready', message);
}

/** The outcome of a push whose commits did not reach the branch. */
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

/** Returns the answer to a write that may be on the remote, or that is on the remote but not yet visible here. */
export function outcomeUnknown(reason: string, requestId: string): ServiceError {
  const advice = `look for "Treeline-Request-Id: ${requestId}" in the log of the repository before you repeat the write`;
  return new ServiceError('outcome_unknown', `${reason}; ${advice}`);
}
