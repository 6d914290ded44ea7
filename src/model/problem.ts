// A mistake in the user's files, as a value: collected, never thrown, sorted at the edge and shown all at once.
import { compareNames } from './names.ts';

/** Where something stands in a text. Both count from 1; columns count UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

export type Severity = 'error' | 'warning';

export interface Problem extends Place {
  /** Stable, snake_case; docs/problems.md lists all of them. */
  readonly code: string;
  readonly severity: Severity;
  /** Relative to the layout's directory, with forward slashes. */
  readonly file: string;
  /** RFC 6901, from the root of the file's document. */
  readonly pointer: string;
  /** One sentence that quotes the offending text. */
  readonly message: string;
  /** What to write instead, where that can be said. */
  readonly hint: string | null;
  /** The instances that cannot move because of it, sorted; absent where it stops none. */
  readonly instances?: readonly string[];
}

/** Sorts problems by file, place and message, and joins those that differ only in the instances they stop. */
export function sortProblems(problems: Iterable<Problem>): Problem[] {
  const same = Map.groupBy(problems, identityOf);
  return [...same.values()].flatMap(joinInstances).sort(compareProblems);
}

function identityOf({ file, line, column, code, message }: Problem): string {
  return `${file}\n${line}:${column}\n${code}\n${message}`;
}

/** Folders as problems name them where it is a file that is missing. */
const FOLDERS: ReadonlySet<string> = new Set(['', '.', 'clients', 'stacks/instances']);

/** Returns where a problem stands, as compilers print it; of a folder its name alone, '' where it is the whole layout. */
export function placeOf({ file, line, column }: Problem): string {
  if (FOLDERS.has(file)) return file === '.' ? '' : file;
  return `${file}:${line}:${column}`;
}

/** Returns true for what stops a unit; false for a warning. */
export function isError(problem: Problem): boolean {
  return problem.severity === 'error';
}

/** Returns the problems with `instance` among those they stop. Warnings stop nobody and stay as they are. */
export function affecting(problems: readonly Problem[], instance: string): readonly Problem[] {
  return problems.map((problem) =>
    isError(problem) ? { ...problem, instances: [...new Set([...(problem.instances ?? []), instance])] } : problem,
  );
}

/** Returns true when nothing worse than a warning is among them. */
export function hasNoErrors(problems: readonly Problem[]): boolean {
  return !problems.some(isError);
}

/** Returns the first of problems that are the same, with the instances of all. */
function joinInstances(same: readonly Problem[]): readonly Problem[] {
  if (same.length === 1) return same;
  const instances = [...new Set(same.flatMap((problem) => problem.instances ?? []))].sort(compareNames);
  return same.slice(0, 1).map((first) => (instances.length === 0 ? first : { ...first, instances }));
}

function compareProblems(a: Problem, b: Problem): number {
  return compareNames(a.file, b.file) || a.line - b.line || a.column - b.column || compareNames(a.message, b.message);
}
