// One file of the stacks repository after it was checked: what every later stage reads, and how it reports mistakes.
import type { Place, Problem } from './problem.ts';

export interface Entry<Value> {
  /** Relative to the layout's directory, with forward slashes. */
  readonly path: string;
  /** The blob's object id: the same content always has the same one. */
  readonly oid: string;
  /** The checked object, or null where a problem of the file itself leaves nothing to work with. */
  readonly object: Value | null;
  /** The file's own mistakes. Any error among them makes whatever draws on this entry wrong too. */
  readonly problems: readonly Problem[];
  /**
   * Returns the place of a value, or of its key, by RFC 6901 pointer. A pointer that is not in the file answers with
   * its nearest ancestor that is, so that a missing value is reported where it would have to stand.
   */
  readonly locate: (pointer: string, part?: 'key' | 'value') => Place;
}

export interface ProblemText {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | null;
  readonly severity?: 'error' | 'warning';
  /** Report at the key instead of at its value. */
  readonly part?: 'key' | 'value';
  readonly instances?: readonly string[];
}

/** Returns a problem that stands at a pointer of an entry. */
export function problemAt(entry: Entry<unknown>, pointer: string, text: ProblemText): Problem {
  const { line, column } = entry.locate(pointer, text.part ?? 'value');
  return {
    code: text.code,
    severity: text.severity ?? 'error',
    file: entry.path,
    line,
    column,
    pointer,
    message: text.message,
    hint: text.hint ?? null,
    ...(text.instances === undefined ? {} : { instances: text.instances }),
  };
}

/** Returns `pointer` with one more step, escaped as RFC 6901 asks. */
export function below(pointer: string, ...keys: readonly (string | number)[]): string {
  return keys.reduce<string>(
    (sum, key) => `${sum}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`,
    pointer,
  );
}

/** Returns the last key of an RFC 6901 pointer, as it is written in the file. */
export function lastStep(pointer: string): string {
  return pointer
    .slice(pointer.lastIndexOf('/') + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');
}

/** Returns true when the file itself is right: it has an object and nothing worse than warnings. */
export function isValidEntry<Value>(entry: Entry<Value>): entry is Entry<Value> & { readonly object: Value } {
  return entry.object !== null && entry.problems.every((problem) => problem.severity === 'warning');
}
