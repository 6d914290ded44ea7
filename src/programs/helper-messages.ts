// The messages between a process and its helper process. Both are of the same version, since one starts the other. Of the
// streams of a program nothing is sent that the other side has not asked for, so that neither holds more than a piece of each.
import { reasonOf } from '../base/wording.ts';
import { LaunchError } from './launch.ts';
import { OutputError, type ProgramEnd, type ProgramOrder } from './run-program.ts';
import type { CallDirectory } from './running-calls.ts';
import type { ProgramStart } from './spawn-program.ts';

/** A message to the helper process. `run` numbers the programs. */
export type HelperOrder =
  /** Names the directory in which calls are recorded; before the first `call`. */
  | { readonly kind: 'open'; readonly place: CallDirectory }
  /** Runs a program for one call, attended there until nothing of it runs; answered by `ended` or `failed`. */
  | { readonly kind: 'call'; readonly run: number; readonly order: Omit<ProgramOrder, 'signal'> }
  /** Starts a program whose streams are passed on; answered by `closed` or `failed` in the end. */
  | { readonly kind: 'start'; readonly run: number; readonly program: ProgramStart }
  /** A piece of the program's input; answered by `taken`. */
  | { readonly kind: 'input'; readonly run: number; readonly piece: Uint8Array }
  | { readonly kind: 'input ends'; readonly run: number }
  /** Asks for the next piece of an output. */
  | { readonly kind: 'more'; readonly run: number; readonly output: OutputName }
  /** Ends a call as its order says; of another program the whole group, by that signal: what it still writes is not wanted. */
  | { readonly kind: 'end'; readonly run: number; readonly ending: NodeJS.Signals }
  /** Asks whether the helper process still answers. */
  | { readonly kind: 'beat' }
  | { readonly kind: 'close' };

/** A message of the helper process. Every `beat` is answered at once. */
export type HelperReport =
  | { readonly kind: 'beat' }
  | { readonly kind: 'log'; readonly level: 'warn' | 'error'; readonly facts: object; readonly text: string }
  | RunReport;

/** A message about one program. The last one is `ended`, `closed` or `failed`. */
export type RunReport =
  | { readonly kind: 'taken'; readonly run: number }
  /** The program takes no more input. */
  | { readonly kind: 'input closed'; readonly run: number }
  /** Null: the output is over. */
  | { readonly kind: 'output'; readonly run: number; readonly output: OutputName; readonly piece: Uint8Array | null }
  | {
      readonly kind: 'closed';
      readonly run: number;
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    }
  | { readonly kind: 'ended'; readonly run: number; readonly end: ProgramEnd }
  | ({ readonly kind: 'failed'; readonly run: number } & Failure);

/** An output of a program. */
export type OutputName = 'stdout' | 'stderr';

interface Failure {
  readonly failure: 'launch' | 'output' | 'other';
  readonly message: string;
  /** Node's own, such as `ENOENT`. */
  readonly code: string | undefined;
}

/** Returns which error it is, to be made again at the other side. */
export function describeFailure(error: unknown): Failure {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const failure = error instanceof LaunchError ? 'launch' : error instanceof OutputError ? 'output' : 'other';
  return { failure, message: reasonOf(error), code };
}

/** Returns the error that {@link describeFailure} has described. */
export function makeError({ failure, message, code }: Failure): Error {
  if (failure === 'launch') return new LaunchError(message);
  return failure === 'output' ? new OutputError(message) : Object.assign(new Error(message), { code });
}
