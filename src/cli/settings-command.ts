// `treeline settings check`: prints every mistake of the operator's file at once, without starting anything.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { problemFrom } from '../catalog/fault.ts';
import { parseYaml } from '../catalog/yaml.ts';
import { loadSettings, SettingsError } from '../load-settings.ts';
import { hasNoErrors, type Problem, sortProblems } from '../model/problem.ts';
import { checkSettingsFiles } from './check-settings-files.ts';
import { CommandFailure } from './command-failure.ts';
import { printProblems } from './format-problem.ts';
import { type Format, formatOption, printJson } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

const EXIT_PROBLEMS = 1;

/** Adds the command. Exit code 0: the controller starts with it, warnings allowed; 1: errors; 3: could not run. */
export function addSettingsCommand(program: Command): void {
  const settings = program.command('settings').description("look at the operator's settings, treeline.yaml");
  settings
    .command('check')
    .description('check a settings file, and the files that it names; starts nothing')
    .argument('<file>', "the operator's settings")
    .addOption(formatOption())
    .addHelpText('after', '\nExit code 0: clean (warnings allowed), 1: errors, 3: could not run.')
    .action(async (file: string, { format }: { readonly format: Format }) => {
      const problems = sortProblems(await problemsIn(file));
      if (format === 'json') printJson({ problems });
      else printProblems(problems);
      if (!hasNoErrors(problems)) process.exitCode = EXIT_PROBLEMS;
    });
}

/** Problems name the file as the person has written it. */
async function problemsIn(file: string): Promise<readonly Problem[]> {
  const path = fromUserDirectory(file);
  try {
    const settings = await loadSettings(path);
    const document = parseYaml(file, await readFile(path));
    return (await checkSettingsFiles(settings)).map(({ pointer, fault }) =>
      problemFrom(fault, { ...document.locate(pointer, fault.part), file, pointer }),
    );
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    if (error.problems.length === 0) throw new CommandFailure(error.message, { cause: error });
    return error.problems.map((problem) => ({ ...problem, file }));
  }
}
