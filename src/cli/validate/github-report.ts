// Formats a report as workflow commands of GitHub Actions, which become annotations of the changed lines.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
import { isFolderProblem, type Problem } from '../../model/problem.ts';
import { detailsOf, pathInRepository, type Report, summaryOf } from './report.ts';

/** Returns one command a problem, and the summary. */
export function githubReport(report: Report): string {
  return [...report.problems.map((problem) => commandOf(report, problem)), summaryOf(report)].join('\n');
}

function commandOf(report: Report, problem: Problem): string {
  const properties = {
    file: pathInRepository(report, problem),
    ...(isFolderProblem(problem) ? {} : { line: String(problem.line), col: String(problem.column) }),
    title: problem.code,
  };
  const written = Object.entries(properties).map(([name, value]) => `${name}=${escapeProperty(value)}`);
  return `::${problem.severity} ${written.join(',')}::${escapeData(detailsOf(problem))}`;
}

/** Escapes as the runner reads it: the percent sign first, then the ends of lines. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** In a property, a colon would end the list and a comma the property. */
function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
