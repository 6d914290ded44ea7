// `treeline settings check`: prints every mistake of the operator's file at once, without starting anything.
import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { parseYaml } from '../catalog/yaml.ts';
import type { Problem } from '../model/problem.ts';
import { loadSettings, problemsOfSettings, SettingsError } from '../settings/load-settings.ts';
import { checkSettingsFiles } from './check-settings-files.ts';
import { CommandFailure } from './command-failure.ts';
import { printProblems } from './format-problem.ts';
import { type Format, formatOption } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

const AS_ROOT =
  'treeline: warning: this looks with the rights of root, who may read and write everything: name the user that runs the ' +
  'controller with --user NAME\n';

/** Adds the command. Exit code 0: the controller starts with it, warnings allowed; 1: errors; 3: could not run. */
export function addSettingsCommand(program: Command): void {
  const settings = program.command('settings').description("look at the operator's settings, treeline.yaml");
  settings
    .command('check')
    .description('check a settings file, and the files that it names; starts nothing')
    .argument('<file>', "the operator's settings")
    .option('--user <name>', 'who runs the controller, for root; default: the owner of the directory of the store')
    .addOption(formatOption())
    .addHelpText('after', '\nExit code 0: clean (warnings allowed), 1: errors, 3: could not run.')
    .action(async (file: string, { format, user }: { readonly format: Format; readonly user?: string }) => {
      printProblems(await problemsIn(file, user), format);
    });
}

/** Problems name the file as the person has written it. */
async function problemsIn(file: string, user: string | undefined): Promise<readonly Problem[]> {
  const path = fromUserDirectory(file);
  try {
    const service = becomeServiceUser((await loadSettings(path)).store.directory, user);
    if (service === undefined && process.getuid?.() === 0) process.stderr.write(AS_ROOT);
    const settings = await loadSettings(path);
    const document = parseYaml(file, await readFile(path));
    return problemsOfSettings(file, document, await checkSettingsFiles(settings, service));
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    if (error.problems.length === 0) throw new CommandFailure(error.message, { cause: error });
    return error.problems.map((problem) => ({ ...problem, file }));
  }
}

/**
 * Gives up the rights of root for those of the user that runs the controller, for good: root can read every file. Returns that
 * user; undefined where none is named and nothing shows who it is. Throws CommandFailure where it cannot.
 */
function becomeServiceUser(store: string, named: string | undefined): string | undefined {
  const isRoot = process.getuid?.() === 0;
  const owner = isRoot ? statSync(store, { throwIfNoEntry: false })?.uid : undefined;
  const who = named ?? (owner === undefined || owner === 0 ? undefined : String(owner));
  if (who === undefined) return undefined;
  const name = idOf('-un', who);
  if (isRoot) {
    process.setgroups?.(idOf('-G', who).split(' ').map(Number));
    process.setgid?.(Number(idOf('-g', who)));
    process.setuid?.(name);
  } else if (Number(idOf('-u', who)) !== process.getuid?.()) {
    throw new CommandFailure(`only root can look as another user: run this as ${name}, or as root`);
  }
  return name;
}

function idOf(part: string, user: string): string {
  try {
    return execFileSync('id', [part, '--', user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch (error) {
    throw new CommandFailure(`there is no user "${user}" on this machine`, { cause: error });
  }
}
