// Sets a deadline for work on a remote: isomorphic-git waits for ever for some answers, which would block following the
// branch and stopping the controller.
import type { Clock } from '../base/clock.ts';
import { untilAborted } from './git/until-aborted.ts';
import { SourceError } from './source.ts';

/** The limit of work on a remote. */
export interface Deadline {
  readonly clock: Clock;
  /** In milliseconds. */
  readonly fetchMs: number;
  /** The remote, for the message. */
  readonly remote: { readonly name: string };
  /** Ends the wait early, with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Returns the result of `work`. Throws SourceError at the deadline, or the signal's reason if that comes first. The
 * work gets a signal of its own, and is not awaited further.
 */
export async function withDeadline<Value>(
  { clock, fetchMs, remote, signal }: Deadline,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const late = new AbortController();
  const cancel = clock.after(fetchMs, () =>
    late.abort(new SourceError(`"${remote.name}" did not answer within ${fetchMs / 1000} s: it is asked again later`)),
  );
  try {
    return await untilAborted(AbortSignal.any([signal, late.signal]), work);
  } finally {
    cancel();
  }
}
