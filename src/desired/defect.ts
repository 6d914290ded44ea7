// Turns an exception of Treeline's own, thrown for one object of the user, into a problem, so that other objects are
// processed.

import { type Entry, problemAt } from '../model/entry.ts';
import type { Problem } from '../model/problem.ts';
import { reasonOf } from '../model/quote.ts';

/** Returns true if Treeline failed: the dependencies of that failure are unknown, so each commit tries again. */
export function hasDefect(problems: readonly Problem[]): boolean {
  return problems.some(({ code }) => code === 'internal_error');
}

/** Returns the problem for an exception thrown while an object was processed. */
export function defectAt(entry: Entry<unknown>, error: unknown): Problem {
  const { path, oid, object, problems } = entry;
  const text = reasonOf(error);
  // The entry's own `locate` may be the function that failed.
  const place = { path, oid, object, problems, locate: () => ({ line: 1, column: 1 }) };
  return problemAt(place, '', {
    code: 'internal_error',
    message: `Treeline failed on this file: ${text}`,
    hint: 'this is a defect of Treeline: report it with this text and the file; everything else goes on',
  });
}
