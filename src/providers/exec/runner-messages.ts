// The messages between a controller or proxy and its runner process. Both are of the same version, since one starts the
// other.
import { reasonOf } from '../../model/quote.ts';
import { LaunchError } from './launch.ts';
import { OutputError } from './program-output.ts';
import type { ProgramEnd, ProgramOrder } from './run-program.ts';
import type { CallDirectory } from './running-calls.ts';

/** A message to the runner process. The first one is `open`; a process that gets none does nothing. */
export type RunnerOrder =
  | { readonly kind: 'open'; readonly place: CallDirectory }
  | { readonly kind: 'run'; readonly call: number; readonly order: Omit<ProgramOrder, 'signal'> }
  | { readonly kind: 'end'; readonly call: number }
  | { readonly kind: 'beat' }
  | { readonly kind: 'close' };

/**
 * A message of the runner process. Every `run` is answered once, when nothing of its program runs any more, and every
 * `beat` at once.
 */
export type RunnerReport =
  | { readonly kind: 'beat' }
  | { readonly kind: 'ended'; readonly call: number; readonly end: ProgramEnd }
  | { readonly kind: 'failed'; readonly call: number; readonly failure: Failure; readonly message: string }
  | { readonly kind: 'log'; readonly level: 'warn' | 'error'; readonly facts: object; readonly text: string };

type Failure = 'launch' | 'output' | 'other';

/** Returns which error it is, to be made again at the other side. */
export function describeFailure(error: unknown): { readonly failure: Failure; readonly message: string } {
  const message = reasonOf(error);
  if (error instanceof LaunchError) return { failure: 'launch', message };
  return { failure: error instanceof OutputError ? 'output' : 'other', message };
}

/** Returns the error that {@link describeFailure} has described. */
export function makeError({ failure, message }: { readonly failure: Failure; readonly message: string }): Error {
  if (failure === 'launch') return new LaunchError(message);
  return failure === 'output' ? new OutputError(message) : new Error(message);
}
