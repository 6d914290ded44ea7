// `treeline validate`: prints all mistakes of a working directory or of a commit. Works offline.
import { existsSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { type Command, Option } from 'commander';
import { didYouMean } from '../base/wording.ts';
import { wantsBlob } from '../catalog/load-catalog.ts';
import { derive, problemsOf } from '../derive.ts';
import { hasNoErrors } from '../model/problem.ts';
import type { Snapshot } from '../model/snapshot.ts';
import { isBare, openLocalRepository } from '../repository/local-repository.ts';
import { SourceError } from '../repository/source.ts';
import { CommandFailure, EXIT_PROBLEMS, expecting } from './command-failure.ts';
import { linesOf, TERMINAL_PAINT } from './format-problem.ts';
import { print, printEscaped } from './output.ts';
import { fromUserDirectory, readStacksDirectory } from './user-directory.ts';
import { isProblemCode, PROBLEM_CODES } from './validate/problem-codes.ts';
import {
  codeText,
  githubReport,
  gitlabReport,
  jsonReport,
  type Report,
  sarifReport,
  textReport,
} from './validate/report.ts';

const FORMATS = {
  json: jsonReport,
  github: githubReport,
  gitlab: gitlabReport,
  sarif: sarifReport,
} as const satisfies Record<string, (report: Report) => string>;

interface ValidateOptions {
  readonly format: 'text' | keyof typeof FORMATS;
  readonly explain?: string;
  readonly rev?: string;
}

/** Adds the command. Exit code 0: clean, warnings allowed; 1: errors; 3: could not run. */
export function addValidateCommand(program: Command): void {
  program
    .command('validate')
    .description('check every file of a stacks repository')
    .argument('[directory]', 'the folder that has tree.yaml', '.')
    .addOption(
      new Option('--format <format>', 'how to print').choices(['text', ...Object.keys(FORMATS)]).default('text'),
    )
    .option('--rev <revision>', 'check this commit instead of the files in the directory')
    .option('--explain <code>', 'print what a problem code means, with examples')
    .addHelpText('after', '\nExit code 0: clean (warnings allowed), 1: errors, 3: could not run.')
    .action(async (directory: string, { format, explain, rev }: ValidateOptions) => {
      if (explain !== undefined) return print(explained(explain));
      const report = await validateDirectory(fromUserDirectory(directory), rev);
      if (format === 'text') printEscaped(textReport(report, TERMINAL_PAINT));
      else print(FORMATS[format](report));
      if (!hasNoErrors(report.problems)) process.exitCode = EXIT_PROBLEMS;
    });
}

function explained(code: string): string {
  if (isProblemCode(code)) return codeText(code);
  const hint = didYouMean(code, Object.keys(PROBLEM_CODES)) ?? 'docs/problems.md lists all codes';
  throw new CommandFailure(`there is no problem code "${code}": ${hint}`);
}

/**
 * Resolves with the problems of a directory (absolute path), or of a commit if there is a revision. Throws
 * CommandFailure if it cannot be read.
 */
export async function validateDirectory(directory: string, revision?: string): Promise<Report> {
  const isCommit = revision !== undefined;
  if (!isCommit && isBare(directory)) {
    const advice = 'check a commit of it with --rev, such as --rev main, or a clone';
    throw new CommandFailure(`${directory} is a bare repository, without files to check: ${advice}`);
  }
  const snapshot = isCommit ? await readCommit(directory, revision) : await readStacksDirectory(directory);
  const derivation = derive(snapshot);
  return {
    files: derivation.isFollowed ? derivation.desired.catalog.files.size : derivation.filesCount,
    problems: problemsOf(derivation),
    prefix: prefixOf(directory),
    linesOf: lineReader(snapshot),
  };
}

async function readCommit(directory: string, revision: string): Promise<Snapshot> {
  return await expecting([SourceError], async () => {
    using repository = await openLocalRepository(directory);
    return await repository.snapshot(await repository.resolve(revision), wantsBlob());
  });
}

/** Returns a function that reads the lines of files. It caches one file, which is enough for sorted problems. */
function lineReader(snapshot: Snapshot): Report['linesOf'] {
  let last: { readonly file: string; readonly lines: readonly string[] | undefined } | undefined;
  return (file) => {
    if (last?.file !== file) {
      const content = snapshot.blobs.get(snapshot.files.get(file)?.oid ?? '');
      // In a file that is not UTF-8, the text before the first invalid byte is correct, and so is the column of that
      // byte.
      last = { file, lines: content === undefined ? undefined : linesOf(new TextDecoder().decode(content)) };
    }
    return last.lines;
  };
}

/** Returns the path of a directory from the root of its Git repository; '' if there is none. */
function prefixOf(directory: string): string {
  const path = relative(rootAround(directory) ?? directory, directory);
  return path === '' ? '' : `${path.split(sep).join('/')}/`;
}

/** Returns the root of the Git repository around a directory; undefined if there is none. */
function rootAround(directory: string): string | undefined {
  const above = dirname(directory);
  if (existsSync(join(directory, '.git'))) return directory;
  return above === directory ? undefined : rootAround(above);
}
