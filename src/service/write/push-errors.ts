// Translates errors of a push for the client. It recognises them by name, since the service does not import the
// drivers.
import { ServiceError } from '../../model/service-error.ts';

/** Tells whether it is unknown if the push arrived. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof Error && error.name === 'OutcomeUnknownError';
}

/** Tells whether the repository said no; that may be about one of several commits. */
export function isPushRefused(error: unknown): boolean {
  return error instanceof Error && error.name === 'PushRefusedError';
}

/** Returns what the client is told where nothing was written. What is no failure of the repository stays as it is. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ServiceError) return error;
  if (isPushRefused(error)) return new ServiceError('push_refused', error.message);
  if (error.name !== 'SourceError') return error;
  return new ServiceError('not_ready', `The repository cannot be reached: ${error.message}; nothing was written`);
}

/** Returns what the client is told where the write may be on the remote, or is and cannot be seen here yet. */
export function outcomeUnknown(reason: string, requestId: string): ServiceError {
  const advice = `look for "Treeline-Request-Id: ${requestId}" in the log of the repository before you write it again`;
  return new ServiceError('outcome_unknown', `${reason}; ${advice}`);
}
