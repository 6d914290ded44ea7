// Formats a report as SARIF 2.1.0, which code scanning and editors read.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
import { isFolderProblem, type Problem, type ProblemCode } from '../../model/problem.ts';
import { productVersion } from '../product-files.ts';
import { codeText } from './code-text.ts';
import { PROBLEM_CODES } from './problem-codes.ts';
import { detailsOf, fingerprintsOf, pathInRepository, type Report } from './report.ts';

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json';

/** Returns a SARIF log with one run. Its rules are the codes that were found. */
export function sarifReport(report: Report): string {
  const codes = [...new Set(report.problems.map(({ code }) => code))].sort();
  const fingerprints = fingerprintsOf(report);
  const run = {
    tool: { driver: { name: 'Treeline', version: productVersion(), rules: codes.map(ruleOf) } },
    columnKind: 'utf16CodeUnits',
    results: report.problems.map((problem, index) => ({
      ruleId: problem.code,
      ruleIndex: codes.indexOf(problem.code),
      level: problem.severity,
      message: { text: detailsOf(problem) },
      locations: [{ physicalLocation: locationOf(report, problem) }],
      partialFingerprints: { 'problem/v1': fingerprints[index] },
    })),
  };
  return JSON.stringify({ $schema: SCHEMA, version: '2.1.0', runs: [run] }, null, 2);
}

function ruleOf(code: ProblemCode) {
  const { meaning, severity } = PROBLEM_CODES[code];
  return {
    id: code,
    shortDescription: { text: `${meaning}.` },
    help: { text: codeText(code) },
    defaultConfiguration: { level: severity === 'warning' ? 'warning' : 'error' },
  };
}

function locationOf(report: Report, problem: Problem) {
  const { line, column } = problem;
  return {
    artifactLocation: { uri: uriOf(pathInRepository(report, problem)), uriBaseId: '%SRCROOT%' },
    ...(isFolderProblem(problem) ? {} : { region: { startLine: line, startColumn: column } }),
  };
}

/** A file may have any name; half of a surrogate pair, which no URI can hold, cannot come out of a name in UTF-8. */
function uriOf(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/');
}
