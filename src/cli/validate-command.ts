// `treeline validate`: prints all mistakes of a working directory before they are committed, or those of a commit.
// Offline.
import { type Command, Option } from 'commander';
import { didYouMean } from '../base/wording.ts';
import { hasNoErrors } from '../model/problem.ts';
import { CommandFailure, EXIT_PROBLEMS } from './command-failure.ts';
import { TERMINAL_PAINT } from './format-problem.ts';
import { print, printEscaped } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';
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
import { validateDirectory } from './validate/validate-directory.ts';

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
