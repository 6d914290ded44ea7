// Formats and prints problems as text. The caller provides colours, so that a file or a pipe gets none.
import { styleText } from 'node:util';
import { countOf } from '../base/wording.ts';
import { hasNoErrors, isError, type Problem, placeOf, sortProblems } from '../model/problem.ts';
import { SettingsError } from '../settings/load-settings.ts';
import { CommandFailure, EXIT_PROBLEMS } from './command-failure.ts';
import { print, visibleLine } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

/** The parts of a problem with different colours. */
export type Style = 'plain' | 'error' | 'warning' | 'place' | 'margin';

/** Returns a text with the colours of a style around it. */
export type Paint = (style: Style, text: string) => string;

/** Adds no colours. */
export const NO_PAINT: Paint = (_style, text) => text;

const STYLES = {
  plain: [],
  error: ['bold', 'red'],
  warning: ['bold', 'yellow'],
  place: ['bold'],
  margin: ['blue'],
} as const satisfies Record<Style, readonly Parameters<typeof styleText>[0][]>;

/** Adds colours if the standard output is a terminal with colours; `NO_COLOR` and `FORCE_COLOR` have priority. */
export const TERMINAL_PAINT: Paint = (style, text) => styleText([...STYLES[style]], text, { stream: process.stdout });

/** How {@link formatProblem} formats. */
export interface ProblemOptions {
  readonly paint?: Paint;
  /** The lines of the problem's file. */
  readonly lines?: readonly string[] | undefined;
}

/**
 * Returns a problem in the style of compilers: place, severity, message; then its line, the hint and the affected
 * instances. Terminal control characters are escaped.
 */
export function formatProblem(problem: Problem, { paint = NO_PAINT, lines: source = [] }: ProblemOptions = {}): string {
  const { severity, code, message, hint, instances = [] } = problem;
  const place = placeOf(problem);
  const lines = [
    `${place === '' ? '' : `${paint('place', visibleLine(place))}: `}${paint(severity, severity)}: ${visibleLine(message)} [${code}]`,
    ...snippetLines(problem, source, paint),
  ];
  if (hint !== null) lines.push(`    hint: ${visibleLine(hint)}`);
  if (instances.length > 0) lines.push(`    stops: ${visibleLine(instances.join(', '))}`);
  return lines.join('\n');
}

const MARGIN_WIDTH = 4;
/** The UTF-16 units of a shortened line before the caret, and in total. */
const BEFORE_UNITS = 60;
const UNITS_MAX = 110;
const CUT = '…';

/**
 * Returns the line of a problem, with tabs as four spaces and shortened around the place, and a line with the caret.
 * Every character counts as one column. Returns nothing if the file has no such line, or the line is blank.
 */
function snippetLines({ line, column, severity }: Problem, lines: readonly string[], paint: Paint): readonly string[] {
  const source = lines[line - 1] ?? '';
  if (source.trim() === '') return [];
  const offset = Math.min(column - 1, source.length);
  const from = source.length <= UNITS_MAX ? 0 : Math.max(0, offset - BEFORE_UNITS);
  const to = Math.min(source.length, from + UNITS_MAX);
  const shown = (text: string): string => visibleLine(text.toWellFormed().replaceAll('\t', '    '));
  const before = `${from > 0 ? CUT : ''}${shown(source.slice(from, offset))}`;
  const number = String(line).padStart(MARGIN_WIDTH + 1);
  const below = ' '.repeat(number.length);
  return [
    `${paint('margin', `${number} |`)} ${before}${shown(source.slice(offset, to))}${to < source.length ? CUT : ''}`,
    `${paint('margin', `${below} |`)} ${' '.repeat(before.length)}${paint(severity, '^')}`,
  ];
}

/** Returns the lines of a text, which end as in YAML: at LF, CR LF, or CR. Drops a byte order mark. */
export function linesOf(text: string): readonly string[] {
  return text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
}

/** Returns the number of errors and of warnings in words. */
export function countsOf(problems: readonly Problem[]): string {
  const errors = problems.filter(isError).length;
  return `${countOf(errors, 'error')}, ${countOf(problems.length - errors, 'warning')}`;
}

/**
 * Prints the problems of a settings file with their counts, and sets the exit code if one is an error. `find` gets the
 * path of the file. Problems contain the user's name of the file. Throws CommandFailure if the file cannot be read.
 */
export async function printSettingsProblems(
  file: string,
  find: (path: string) => Promise<readonly Problem[]>,
): Promise<void> {
  const found = await find(fromUserDirectory(file)).catch((error: unknown) => {
    if (!(error instanceof SettingsError)) throw error;
    if (error.problems.length === 0) throw new CommandFailure(error.message, { cause: error });
    return error.problems;
  });
  const problems = sortProblems(found.map((problem) => ({ ...problem, file })));
  print([...problems.map((problem) => formatProblem(problem)), countsOf(problems)].join('\n'));
  if (!hasNoErrors(problems)) process.exitCode = EXIT_PROBLEMS;
}
