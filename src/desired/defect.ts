// Turns an exception of Treeline's own on one object of the user into a problem, so that the others go on.
import { type Entry, problemAt } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';

/** Returns true where Treeline failed: nobody knows what that depended on, so it is tried again with each commit. */
export function hasDefect(problems: readonly Problem[]): boolean {
  return problems.some(({ code }) => code === 'internal_error');
}

/** Returns the problem that stands for an exception while an object was worked on. */
export function defectAt(entry: Entry<unknown>, error: unknown): Problem {
  const { path, oid, object, problems } = entry;
  const text = error instanceof Error ? error.message : String(error);
  // The entry's own function may be what failed.
  const place = { path, oid, object, problems, locate: () => ({ line: 1, column: 1 }) };
  return problemAt(place, '', {
    code: 'internal_error',
    message: `Treeline failed on this file: ${text}`,
    hint: 'this is a defect of Treeline: report it with this text and the file; everything else goes on',
  });
}
