// `treeline validate`: prints every mistake of a working directory at once, before it is committed.
import type { Command } from 'commander';
import type { Derivation } from '../derive.ts';
import { problemsAndRemarks } from '../desired/remarks.ts';
import { hasNoErrors, type Problem } from '../model/problem.ts';
import { counted, type Format, formatOption, printJson, printProblems } from './output.ts';
import { deriveDirectory, fromUserDirectory } from './user-directory.ts';

const EXIT_PROBLEMS = 1;

/** Adds the command. Exit code 0: clean, warnings allowed; 1: errors; 3: could not run. */
export function addValidateCommand(program: Command): void {
  program
    .command('validate')
    .description('check a stacks repository: every file, every reference, every stack')
    .argument('[directory]', 'where the layout begins', '.')
    .addOption(formatOption())
    .addHelpText('after', '\nExit code 0: clean (warnings allowed), 1: errors, 3: could not run.')
    .action(async (directory: string, { format }: { readonly format: Format }) => {
      const derivation = await deriveDirectory(fromUserDirectory(directory));
      const problems = derivation.isFollowed ? problemsAndRemarks(derivation.desired) : derivation.problems;
      if (format === 'json') printJson({ files: fileCount(derivation), problems: problems.map(publicProblem) });
      else printProblems(problems, counted(fileCount(derivation), 'file'));
      if (!hasNoErrors(problems)) process.exitCode = EXIT_PROBLEMS;
    });
}

function fileCount(derivation: Derivation): number {
  return (derivation.isFollowed ? derivation.desired.catalog : derivation.catalog).files.size;
}

/** The fields that programs may rely on, in a fixed order. */
function publicProblem({ code, severity, file, line, column, pointer, message, hint }: Problem) {
  return { code, severity, file, line, column, pointer, message, hint };
}
