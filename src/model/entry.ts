// Defines a checked file of the stacks repository, which all later stages read, and how problems refer to it.
import type { MissingObject, Place, Problem, ProblemCode } from './problem.ts';

/** A checked file of the stacks repository. */
export interface Entry<Value> {
  /** Relative to the layout's directory, with forward slashes. */
  readonly path: string;
  /** The blob's object id: the same content always has the same one. */
  readonly oid: string;
  /** The checked object, or null if the file is too broken to yield one. */
  readonly object: Value | null;
  /** The file's own problems. An error among them also makes every unit that depends on this entry invalid. */
  readonly problems: readonly Problem[];
  /**
   * Returns the place of a value, or of its key, by RFC 6901 pointer. For a pointer that is not in the file it returns
   * the place of its nearest ancestor, so that a missing value is reported where it belongs.
   */
  readonly locate: (pointer: string, part?: 'key' | 'value') => Place;
}

/** A mistake in a text, without file and place. The defaults are no hint, and the severity `error`. */
export interface Fault {
  readonly code: ProblemCode;
  readonly message: string;
  readonly hint?: string | null;
  readonly severity?: 'error' | 'warning';
  /** Report at the key instead of its value. */
  readonly part?: 'key' | 'value';
}

/** A problem without file and place, which may stop instances. */
export interface ProblemText extends Fault {
  readonly missing?: MissingObject;
  readonly instances?: readonly string[];
}

/** Returns a problem at a pointer of an entry. */
export function problemAt(entry: Entry<unknown>, pointer: string, text: ProblemText): Problem {
  const problem = problemFrom(text, { ...entry.locate(pointer, text.part), file: entry.path, pointer });
  const { instances, missing } = text;
  return { ...problem, ...(missing && { missing }), ...(instances && { instances }) };
}

/** Returns the problem of a fault at a known place. */
export function problemFrom(fault: Fault, at: Place & { readonly file: string; readonly pointer: string }): Problem {
  return {
    code: fault.code,
    severity: fault.severity ?? 'error',
    file: at.file,
    line: at.line,
    column: at.column,
    pointer: at.pointer,
    message: fault.message,
    hint: fault.hint ?? null,
  };
}

/** Returns `pointer` extended by keys, escaped according to RFC 6901. */
export function below(pointer: string, ...keys: readonly (string | number)[]): string {
  return keys.reduce<string>(
    (sum, key) => `${sum}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    pointer,
  );
}

/** Returns the last key of an RFC 6901 pointer, unescaped. */
export function lastStep(pointer: string): string {
  return pointer
    .slice(pointer.lastIndexOf('/') + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');
}

/** A checked file that yields an object. */
export type ValidEntry<Value> = Entry<Value> & { readonly object: Value };

/** Returns true if the file itself is valid: it has an object and no problem worse than a warning. */
export function isValidEntry<Value>(entry: Entry<Value>): entry is ValidEntry<Value> {
  return entry.object !== null && entry.problems.every((problem) => problem.severity === 'warning');
}
