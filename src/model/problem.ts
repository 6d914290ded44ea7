// Defines a problem in the user's files as a value: it is collected and never thrown, and all problems are shown
// together.
import type problemCodes from '../../schemas/problem-codes.json';
import { compareNames, type PlainTypeName } from './names.ts';

type CodeGroups = (typeof problemCodes)['groups'];

/** A code of schemas/problem-codes.json: stable, snake_case. */
export type ProblemCode = { [Group in keyof CodeGroups]: keyof CodeGroups[Group]['codes'] }[keyof CodeGroups];

/** A position in a text. Both count from 1; columns count UTF-16 units. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** An error stops everything that depends on the file; a warning stops nothing. */
export type Severity = 'error' | 'warning';

/** An object that a file names and that does not exist. */
export interface MissingObject {
  readonly type: PlainTypeName | 'stack-template';
  readonly name: string;
}

/** A mistake in a file, with its place. */
export interface Problem extends Place {
  /** Stable; docs/problems.md explains all of them. */
  readonly code: ProblemCode;
  readonly severity: Severity;
  /** Relative to the layout's directory, with forward slashes. */
  readonly file: string;
  /** RFC 6901, from the root of the file's document. */
  readonly pointer: string;
  /** One sentence that quotes the offending text. */
  readonly message: string;
  /** A correction, if one is known. */
  readonly hint: string | null;
  /** The missing object, from which the hint is computed when the problem is listed. */
  readonly missing?: MissingObject;
  /** The instances that the problem pins, sorted; absent if there are none. */
  readonly instances?: readonly string[];
}

/** Returns the place of a problem and its code. Every client may read these, but not messages, which quote files. */
export function placeAndCode({ file, line, column, code }: Problem): string {
  return `${file}:${line}:${column} [${code}]`;
}

/** Returns problems sorted by file, place and message, and merges problems that differ only in their instances. */
export function sortProblems(problems: Iterable<Problem>): Problem[] {
  const same = Map.groupBy(problems, identityOf);
  return [...same.values()].flatMap(joinInstances).sort(compareProblems);
}

function identityOf({ file, line, column, code, message }: Problem): string {
  return `${file}\n${line}:${column}\n${code}\n${message}`;
}

/** The folders in which a problem reports a missing file, with or without the directory of the layout. */
const FOLDER = /^\.?$|(?:^|\/)(?:clients|stacks\/instances)$/;

/** Returns the place of a problem as compilers print it; for a folder only its name, for the whole layout ''. */
export function placeOf(problem: Problem): string {
  const { file, line, column } = problem;
  if (isFolderProblem(problem)) return file === '.' ? '' : file;
  return `${file}:${line}:${column}`;
}

/** Returns true for a problem of a folder or the whole layout: it has no line. */
export function isFolderProblem({ file }: Pick<Problem, 'file'>): boolean {
  return FOLDER.test(file);
}

/** Returns true for an error, false for a warning. */
export function isError(problem: Problem): boolean {
  return problem.severity === 'error';
}

/** Returns the problems with `instance` added to their instances. Warnings are unchanged. */
export function affecting(problems: readonly Problem[], instance: string): readonly Problem[] {
  return problems.map((problem) =>
    isError(problem) ? { ...problem, instances: [...new Set([...(problem.instances ?? []), instance])] } : problem,
  );
}

/** Returns true if no problem is an error. */
export function hasNoErrors(problems: readonly Problem[]): boolean {
  return !problems.some(isError);
}

/** Returns the first of several equal problems, with the instances of all. */
function joinInstances(same: readonly Problem[]): readonly Problem[] {
  if (same.length === 1) return same;
  const instances = [...new Set(same.flatMap((problem) => problem.instances ?? []))].sort(compareNames);
  return same.slice(0, 1).map((first) => (instances.length === 0 ? first : { ...first, instances }));
}

function compareProblems(a: Problem, b: Problem): number {
  return compareNames(a.file, b.file) || a.line - b.line || a.column - b.column || compareNames(a.message, b.message);
}
