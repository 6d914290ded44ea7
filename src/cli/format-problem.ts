// Formats and prints problems for people. Colours come from the caller, so that a file or a pipe gets none.
import { styleText } from 'node:util';
import { countOf } from '../base/wording.ts';
import { isError, type Problem, placeOf, sortProblems } from '../model/problem.ts';
import { EXIT_PROBLEMS } from './command-failure.ts';
import { type Format, printAs, visibleLine } from './output.ts';
import type { Snippet } from './validate/snippet.ts';

/** The parts of a problem that have a colour of their own. */
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

/** Adds colours where the standard output is a terminal that shows them; `NO_COLOR` and `FORCE_COLOR` decide first. */
export const TERMINAL_PAINT: Paint = (style, text) => styleText([...STYLES[style]], text, { stream: process.stdout });

/** How {@link formatProblem} formats. */
export interface ProblemOptions {
  readonly paint?: Paint;
  /** The line of the problem. */
  readonly snippet?: Snippet | undefined;
}

/**
 * Returns a problem as compilers print theirs: place, severity, message; then its line, the hint and the instances that
 * it stops. What a terminal would obey is escaped.
 */
export function formatProblem(problem: Problem, { paint = NO_PAINT, snippet }: ProblemOptions = {}): string {
  const { severity, code, message, hint, instances = [] } = problem;
  const place = placeOf(problem);
  const lines = [
    `${place === '' ? '' : `${paint('place', visibleLine(place))}: `}${paint(severity, severity)}: ${visibleLine(message)} [${code}]`,
    ...(snippet === undefined ? [] : snippetLines(problem, snippet, paint)),
  ];
  if (hint !== null) lines.push(`    hint: ${visibleLine(hint)}`);
  if (instances.length > 0) lines.push(`    stops: ${visibleLine(instances.join(', '))}`);
  return lines.join('\n');
}

const MARGIN_WIDTH = 4;

function snippetLines({ line, severity }: Problem, snippet: Snippet, paint: Paint): readonly string[] {
  const number = String(line).padStart(MARGIN_WIDTH + 1);
  const below = ' '.repeat(number.length);
  return [
    `${paint('margin', `${number} |`)} ${snippet.line}`,
    `${paint('margin', `${below} |`)} ${' '.repeat(snippet.caretAt)}${paint(severity, '^')}`,
  ];
}

/**
 * Prints the problems of a settings file, for people with their counts below, and sets the exit code where one is an
 * error.
 */
export function printProblems(found: readonly Problem[], format: Format): void {
  const problems = sortProblems(found);
  const errors = problems.filter(isError).length;
  const counts = [countOf(errors, 'error'), countOf(problems.length - errors, 'warning')].join(', ');
  printAs(format, { problems }, () => [...problems.map((problem) => formatProblem(problem)), counts].join('\n'));
  if (errors > 0) process.exitCode = EXIT_PROBLEMS;
}
