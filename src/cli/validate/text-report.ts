// Formats a report for people: places as compilers print them, the line of each problem with a caret, colours on a terminal.
import { isError } from '../../model/problem.ts';
import { formatProblem, type Paint } from '../format-problem.ts';
import { type Report, summaryOf } from './report.ts';
import { snippetAt } from './snippet.ts';

/** Returns the report as text, everything that a terminal obeys escaped but for what `paint` adds. */
export function textReport(report: Report, paint: Paint): string {
  const problems = report.problems.map((problem) => {
    const lines = report.linesOf(problem.file);
    const snippet = lines === undefined ? undefined : snippetAt(lines, problem);
    return formatProblem(problem, { paint, snippet });
  });
  const style = report.problems.some(isError) ? 'error' : 'plain';
  return [...problems, paint(style, summaryOf(report))].join('\n');
}
