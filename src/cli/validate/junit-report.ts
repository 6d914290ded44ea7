// Formats a report as JUnit XML, which most CI systems show as tests. An error is a failed test, a warning a passed one
// with output.
import { isError, isFolderProblem, type Problem } from '../../model/problem.ts';
import { detailsOf, pathInRepository, type Report, summaryOf } from './report.ts';

const SUITE = 'treeline validate';

/** Returns an XML document with one test case a problem, and one for the whole layout. */
export function junitReport(report: Report): string {
  const failures = report.problems.filter(isError).length;
  const counts = `tests="${report.problems.length + 1}" failures="${failures}" errors="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${SUITE}" ${counts}>`,
    `  <testsuite name="${SUITE}" ${counts} skipped="0">`,
    `    <testcase name="${escapeXml(summaryOf(report))}" classname="${SUITE}"/>`,
    ...report.problems.map((problem) => testCase(report, problem)),
    '  </testsuite>',
    '</testsuites>',
  ].join('\n');
}

function testCase(report: Report, problem: Problem): string {
  const path = escapeXml(pathInRepository(report, problem));
  const place = isFolderProblem(problem) ? path : `${path}:${problem.line}:${problem.column}`;
  const details = escapeXml(detailsOf(problem));
  const content = isError(problem)
    ? `<failure type="${problem.code}" message="${escapeXml(problem.message)}">${details}</failure>`
    : `<system-out>${details}</system-out>`;
  return `    <testcase name="${place} ${problem.code}" classname="${path}" file="${path}">${content}</testcase>`;
}

/** What XML 1.0 cannot hold, not even escaped. */
const NO_XML = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

function escapeXml(text: string): string {
  return text
    .replaceAll(NO_XML, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
