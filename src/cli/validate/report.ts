// Formats the result of a validation as text and in formats for programs.
import { createHash } from 'node:crypto';
import { productVersion } from '../../base/product-files.ts';
import { countOf } from '../../base/wording.ts';
import { isError, isFolderProblem, type Problem, type ProblemCode } from '../../model/problem.ts';
import { countsOf, formatProblem, type Paint } from '../format-problem.ts';
import { type ExampleFiles, isRunExample, PROBLEM_CODES } from './problem-codes.ts';

/** The result of a validation. */
export interface Report {
  /** The number of files in the layout. */
  readonly files: number;
  /** Sorted. */
  readonly problems: readonly Problem[];
  /** The path from the root of the Git repository to the layout: '' or one that ends in `/`. */
  readonly prefix: string;
  /** Returns the lines of a file without line ends; undefined if the file was not read. */
  readonly linesOf: (file: string) => readonly string[] | undefined;
}

/** The file for problems of the whole layout, because programs need a file for each problem. */
const LAYOUT_FILE = 'tree.yaml';

/** Returns the path of a problem's file or folder from the root of the Git repository. */
function pathInRepository({ prefix }: Report, { file }: Problem): string {
  return `${prefix}${file === '' || file === '.' ? LAYOUT_FILE : file}`;
}

/** Returns the number of files, errors and warnings in words. */
function summaryOf({ files, problems }: Report): string {
  return `${countOf(files, 'file')}, ${countsOf(problems)}`;
}

/** The number of instances that {@link writeDetails} names. */
const NAMED_MAX = 5;

/** Returns the message of a problem, its hint, and the affected instances, each on one line. */
function writeDetails({ message, hint, instances = [] }: Problem): string {
  const more = instances.length > NAMED_MAX ? ` and ${instances.length - NAMED_MAX} more` : '';
  return [
    message,
    ...(hint === null ? [] : [`hint: ${hint}`]),
    ...(instances.length === 0 ? [] : [`stops: ${instances.slice(0, NAMED_MAX).join(', ')}${more}`]),
  ].join('\n');
}

/**
 * Returns an identifier for each problem, in order. It depends on code, file and pointer, so that it does not change
 * with other lines of the file or with messages. Identifiers are unique in a report.
 */
function numberProblems(report: Report): readonly string[] {
  const counts = new Map<string, number>();
  return report.problems.map((problem) => {
    const key = JSON.stringify([problem.code, pathInRepository(report, problem), problem.pointer]);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    return createHash('sha256').update(`${key}${count}`).digest('hex');
  });
}

const KINDS = { error: 'error', warning: 'warning', either: 'error or warning' } as const;

/** Returns the meaning, remedy and examples of a code, as in docs/problems.md. */
export function codeText(code: ProblemCode): string {
  const { severity, isWholeCommit, meaning, remedy, example } = PROBLEM_CODES[code];
  const kind = `${KINDS[severity]}${isWholeCommit ? ', holds the whole commit' : ''}`;
  const examples = isRunExample(example)
    ? [
        ...filesText('In the commit before', example.before),
        ...filesText('Beside it', example.beside),
        ...filesText('Wrong', example.wrong),
        ...filesText('Right', example.right),
      ]
    : [`Wrong: ${example.wrong}`, `Right: ${example.right}`];
  return [`${code} (${kind})`, `${meaning}.`, `What to do: ${remedy}.`, ...examples].join('\n\n');
}

function filesText(label: string, files: ExampleFiles = {}): readonly string[] {
  return Object.entries(files).map(([path, file]) => {
    if (file === null) return `${label}: ${path} is removed`;
    if ('linkTo' in file) return `${label}: ${path} is a symbolic link to ${file.linkTo}`;
    const lines = 'shown' in file ? file.shown : file;
    return [`${label}, ${path}:`, ...lines.map((line) => `    ${line}`)].join('\n');
  });
}

/** Returns the report as JSON. Paths are relative to the layout, as in the text. */
export function jsonReport({ files, problems }: Report): string {
  return JSON.stringify({ files, problems: problems.map(publicProblem) }, null, 2);
}

/** Returns the fields of a problem that programs may rely on, in a fixed order. */
export function publicProblem({ code, severity, file, line, column, pointer, message, hint }: Problem) {
  return { code, severity, file, line, column, pointer, message, hint };
}

/**
 * Returns one workflow command of GitHub Actions for each problem, which annotates the changed line, and the
 * summary. https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
 */
export function githubReport(report: Report): string {
  return [...report.problems.map((problem) => writeCommand(report, problem)), summaryOf(report)].join('\n');
}

function writeCommand(report: Report, problem: Problem): string {
  const properties = {
    file: pathInRepository(report, problem),
    ...(isFolderProblem(problem) ? {} : { line: String(problem.line), col: String(problem.column) }),
    title: problem.code,
  };
  const written = Object.entries(properties).map(([name, value]) => `${name}=${escapeProperty(value)}`);
  return `::${problem.severity} ${written.join(',')}::${escapeData(writeDetails(problem))}`;
}

/** Escapes for the runner: the percent sign first, then line ends. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

/** In a property, a colon would end the list and a comma the property. */
function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

/**
 * Returns a Code Quality report of GitLab, with one item for each problem.
 * https://docs.gitlab.com/ci/testing/code_quality/
 */
export function gitlabReport(report: Report): string {
  const fingerprints = numberProblems(report);
  const items = report.problems.map((problem, index) => ({
    description: writeDetails(problem),
    check_name: problem.code,
    fingerprint: fingerprints[index],
    severity: isError(problem) ? 'major' : 'minor',
    location: { path: pathInRepository(report, problem), lines: { begin: problem.line } },
  }));
  return JSON.stringify(items, null, 2);
}

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json';

/**
 * Returns a SARIF log with one run, for code scanning and editors. Its rules are the found codes.
 * https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
 */
export function sarifReport(report: Report): string {
  const codes = [...new Set(report.problems.map(({ code }) => code))].sort();
  const fingerprints = numberProblems(report);
  const run = {
    tool: { driver: { name: 'Treeline', version: productVersion(), rules: codes.map(describeRule) } },
    columnKind: 'utf16CodeUnits',
    results: report.problems.map((problem, index) => ({
      ruleId: problem.code,
      ruleIndex: codes.indexOf(problem.code),
      level: problem.severity,
      message: { text: writeDetails(problem) },
      locations: [{ physicalLocation: locationOf(report, problem) }],
      partialFingerprints: { 'problem/v1': fingerprints[index] },
    })),
  };
  return JSON.stringify({ $schema: SCHEMA, version: '2.1.0', runs: [run] }, null, 2);
}

function describeRule(code: ProblemCode) {
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

/** Returns a path as URI. Never throws: names decoded from UTF-8 contain no unpaired surrogates. */
function uriOf(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/');
}

/** Returns the report as text. Escapes terminal control characters, except those that `paint` adds. */
export function textReport(report: Report, paint: Paint): string {
  const problems = report.problems.map((problem) =>
    formatProblem(problem, { paint, lines: report.linesOf(problem.file) }),
  );
  const style = report.problems.some(isError) ? 'error' : 'plain';
  return [...problems, paint(style, summaryOf(report))].join('\n');
}
