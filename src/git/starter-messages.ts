// The messages between a process and its git starter. Both are of the same version, since one starts the other. Nothing is
// sent that the other side has not asked for, so that neither holds more than a piece of each stream.
import type { GitStart } from './spawn-git.ts';

/** A message to the starter. `run` numbers the runs of git. */
export type StarterOrder =
  | ({ readonly kind: 'start'; readonly run: number } & GitStart)
  /** A piece of git's input; answered by `taken`. */
  | { readonly kind: 'input'; readonly run: number; readonly piece: Uint8Array }
  | { readonly kind: 'input ends'; readonly run: number }
  /** Asks for the next piece of an output. */
  | { readonly kind: 'more'; readonly run: number; readonly output: GitOutput }
  /** Ends git and all processes that it started. What it still writes is not wanted. */
  | { readonly kind: 'end'; readonly run: number; readonly ending: NodeJS.Signals };

/** A message of the starter. Every run ends with one `closed`, or with `failed` if git could not be started. */
export type StarterReport =
  | { readonly kind: 'taken'; readonly run: number }
  /** Git takes no more input. */
  | { readonly kind: 'input closed'; readonly run: number }
  /** Null: the output is over. */
  | { readonly kind: 'output'; readonly run: number; readonly output: GitOutput; readonly piece: Uint8Array | null }
  | { readonly kind: 'failed'; readonly run: number; readonly message: string; readonly code: string | undefined }
  | {
      readonly kind: 'closed';
      readonly run: number;
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    };

/** An output of git. */
export type GitOutput = 'stdout' | 'stderr';
