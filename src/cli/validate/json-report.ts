// Formats a report as JSON. docs/operations.md lists the fields.
import type { Problem } from '../../model/problem.ts';
import type { Report } from './report.ts';

/** Returns the report as JSON. Files are named from the layout, as in the text. */
export function jsonReport({ files, problems }: Report): string {
  return JSON.stringify({ files, problems: problems.map(publicProblem) }, null, 2);
}

/** The fields that programs may rely on, in a fixed order. */
function publicProblem({ code, severity, file, line, column, pointer, message, hint }: Problem) {
  return { code, severity, file, line, column, pointer, message, hint };
}
