// Logs the problems of the user's files.
import type { Logger } from '../base/log.ts';
import { type Problem, placeOf } from '../model/problem.ts';

const LOGGED_MAX = 20;

/** Logs the first of them, a line each. */
export function logProblems(problems: readonly Problem[], log: Logger): void {
  for (const problem of problems.slice(0, LOGGED_MAX)) {
    log.warn({ code: problem.code, instances: problem.instances }, textOf(problem));
  }
}

/** Returns a problem in one line. */
export function textOf(problem: Problem): string {
  const { message, hint } = problem;
  const place = placeOf(problem);
  return `${place === '' ? '' : `${place}: `}${message}${hint === null ? '' : ` (${hint})`}`;
}
