// Translates the outcome of a push that did not succeed for the client.
import { ServiceError } from '../../model/service-error.ts';
import type { PushOutcome } from '../../source/publisher.ts';

/** What became of a push that is over and did not bring its commits to the branch. */
type FailedPush = Exclude<PushOutcome, { readonly is: 'pushed' | 'moved' }>;

/** Returns what the client is told of a push that failed. */
export function failureOf(push: FailedPush, requestId: string): ServiceError {
  switch (push.is) {
    case 'refused':
      return new ServiceError('push_refused', push.reason);
    case 'not sent':
      return new ServiceError('not_ready', `The repository cannot be reached: ${push.reason}; nothing was written`);
    case 'unknown':
      return outcomeUnknown(`It is not known whether the commit arrived: ${push.reason}`, requestId);
  }
}

/** Returns what the client is told where the write may be on the remote, or is and cannot be seen here yet. */
export function outcomeUnknown(reason: string, requestId: string): ServiceError {
  const advice = `look for "Treeline-Request-Id: ${requestId}" in the log of the repository before you write it again`;
  return new ServiceError('outcome_unknown', `${reason}; ${advice}`);
}
