// Explains why a write is not committed. See docs/rest.md, writes.
import { compareNames } from '../../model/names.ts';
import type { Problem } from '../../model/problem.ts';
import { type ErrorDetail, ServiceError } from '../../model/service-error.ts';
import type { Draft, FileEdit } from './draft.ts';

const NAMES_MAX = 20;
const DETAILS_MAX = 1_000;

/** The codes of problems that conflict with the current state and are not mistakes of the body. */
const CONFLICTS: ReadonlySet<string> = new Set(['last_administrator', 'protected_instance', 'hand_over_waits']);

/** The edits of a refused write. */
interface RefusedEdits {
  readonly edits: readonly FileEdit[];
  readonly draft: Draft;
  /** Returns whether the repository has a file at a path before the edits. */
  readonly isThere: (path: string) => boolean;
}

/** Returns the refusal of a write because of the problems (at least one) that it would add. */
export function refusalOfEdits(problems: readonly Problem[], { edits, draft, isThere }: RefusedEdits): ServiceError {
  const paths = new Set(edits.map(({ path }) => path));
  const nothingLeft = problems.find(({ code }) => code === 'nothing_left');
  if (nothingLeft !== undefined) return new ServiceError('conflict', lastOne(nothingLeft));
  const own = problems.find(({ file, code }) => paths.has(file) && !CONFLICTS.has(code));
  if (own !== undefined && !draft.isRemoval) {
    const details = detailsOf(problems).map((detail) =>
      paths.has(detail.file ?? '') ? inBody(detail, isThere) : detail,
    );
    return new ServiceError('invalid_input', ofBody(textOf(own)), details);
  }
  const conflict = problems.find(({ code }) => CONFLICTS.has(code));
  if (conflict !== undefined) return new ServiceError('conflict', textOf(conflict), detailsOf(problems));
  const users = usersIn(problems);
  if (draft.isRemoval) {
    const uses = detailsOf(problems.map((problem) => ({ ...problem, message: 'it is used here', hint: null })));
    return new ServiceError('conflict', `${draft.address} is still in use by ${users}`, uses);
  }
  const [first] = problems;
  const words = first === undefined ? '' : `: ${textOf(first)}`;
  return new ServiceError('breaks_others', `This would break ${users}${words}`, detailsOf(problems));
}

/** Removes line and column, since the text was never committed. The pointer is valid for the body. */
function inBody({ file, pointer, message }: ErrorDetail, isThere: RefusedEdits['isThere']): ErrorDetail {
  return { ...(file !== undefined && isThere(file) ? { file } : {}), pointer, message: ofBody(message) };
}

/** Rewords a message about the file: the file may be larger than the body. */
function ofBody(text: string): string {
  return text.replace(/^the file(?! is larger)\b/, 'the body');
}

function lastOne({ file }: Problem): string {
  if (file === 'clients')
    return 'This would remove the last client, and so the last administrator; register another one first';
  const advice = 'make it with git, and let "treeline approve" accept it';
  return `This is the last stack instance. A commit that removes it waits for an approval: ${advice}`;
}

/** Returns the affected stack instances, or the files of the problems if they name no instance. */
function usersIn(problems: readonly Problem[]): string {
  const unnamed = problems.filter(({ instances = [] }) => instances.length === 0);
  return usersText(
    problems.flatMap(({ instances = [] }) => instances),
    unnamed.map(({ file }) => file),
  );
}

/** Returns the users of an object as the end of a sentence: stack instances by name, others by file. */
export function usersText(instances: readonly string[], files: readonly string[]): string {
  const names = new Set(instances);
  const stacks = names.size === 0 ? [] : [`the stack ${names.size === 1 ? 'instance' : 'instances'} ${list(names)}`];
  const others = files.length === 0 ? [] : [list(new Set(files))];
  return [...stacks, ...others].join(', and ');
}

function list(names: ReadonlySet<string>): string {
  const sorted = [...names].sort(compareNames);
  const more = sorted.length - NAMES_MAX;
  return more > 0 ? `${sorted.slice(0, NAMES_MAX).join(', ')} and ${more} more` : sorted.join(', ');
}

function detailsOf(problems: readonly Problem[]): readonly ErrorDetail[] {
  return problems.slice(0, DETAILS_MAX).map((problem) => {
    const { file, line, column, pointer, instances = [] } = problem;
    const stops = instances.length === 0 ? '' : ` [${list(new Set(instances))}]`;
    return { file, line, column, pointer, message: `${textOf(problem)}${stops}` };
  });
}

function textOf({ message, hint }: Problem): string {
  return hint === null ? message : `${message}; ${hint}`;
}
