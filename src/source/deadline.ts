// An end to waiting for a remote: isomorphic-git has answers on which it waits for ever, and what follows a branch must
// not; nor must a controller that stops.
import type { Clock } from '../clock.ts';
import { untilAborted } from '../git/until-aborted.ts';
import { SourceError } from './source.ts';

export interface Deadline {
  readonly clock: Clock;
  /** In milliseconds. */
  readonly fetchMs: number;
  /** Who is waited for, for the message. */
  readonly remote: { readonly name: string };
  /** Ends the wait earlier, with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Returns what `work` resolves to. Throws SourceError where that takes longer, and the signal's reason where that comes
 * first. The work is told by a signal of its own, and not waited for.
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
