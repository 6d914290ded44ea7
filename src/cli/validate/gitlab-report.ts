// Formats a report as a Code Quality report of GitLab. https://docs.gitlab.com/ci/testing/code_quality/
import { isError } from '../../model/problem.ts';
import { detailsOf, fingerprintsOf, pathInRepository, type Report } from './report.ts';

/** Returns a JSON list with one item a problem. */
export function gitlabReport(report: Report): string {
  const fingerprints = fingerprintsOf(report);
  const items = report.problems.map((problem, index) => ({
    description: detailsOf(problem),
    check_name: problem.code,
    fingerprint: fingerprints[index],
    severity: isError(problem) ? 'major' : 'minor',
    location: { path: pathInRepository(report, problem), lines: { begin: problem.line } },
  }));
  return JSON.stringify(items, null, 2);
}
