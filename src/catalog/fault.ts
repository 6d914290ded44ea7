// Defines a fault: what is wrong with a text, without the file and the place.
import type { ProblemText } from '../model/entry.ts';
import type { Place, Problem } from '../model/problem.ts';

/** A problem without file and place. */
export type Fault = Pick<ProblemText, 'code' | 'message' | 'hint' | 'severity' | 'part'>;

/** Returns the problem of a fault at a place that was found without an entry. */
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
