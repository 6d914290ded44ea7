// Defines the command line and its commands. Each command has its own file.
import { Command, CommanderError } from 'commander';
import { addClientCommand } from './client-command.ts';
import { CommandFailure, EXIT_FAILED } from './command-failure.ts';
import { addDemoCommand } from './demo-command.ts';
import { addEventsCommand } from './events-command.ts';
import { addExplainCommand } from './explain-command.ts';
import { addLaterCommands } from './later-commands.ts';
import { addOperationCommands } from './operation-commands.ts';
import { visible } from './output.ts';
import { addPkiCommand } from './pki-command.ts';
import { productVersion } from './product-files.ts';
import { addProviderCommand } from './provider-command.ts';
import { addProxyCommand } from './proxy-command.ts';
import { addSchemasCommand } from './schemas-command.ts';
import { addServeCommand } from './serve-command.ts';
import { addSettingsCommand } from './settings-command.ts';
import { addStatusCommand } from './status-command.ts';
import { addStoreCommand } from './store-command.ts';
import { describeSystemError } from './system-error.ts';
import { addValidateCommand } from './validate-command.ts';
import { addWhyCommand } from './why-command.ts';

const COMMANDS = [
  addDemoCommand,
  addServeCommand,
  addValidateCommand,
  addExplainCommand,
  addSchemasCommand,
  addStatusCommand,
  addWhyCommand,
  addEventsCommand,
  addClientCommand,
  addPkiCommand,
  addSettingsCommand,
  addProviderCommand,
  addOperationCommands,
  addStoreCommand,
  addProxyCommand,
  addLaterCommands,
];

/** Runs the command that the arguments of the process name, and sets the exit code of the process. */
export async function run(): Promise<void> {
  const program = new Command('treeline')
    .description(
      'A GitOps controller for infrastructure stacks: follows a Git repository, drives every server to done.',
    )
    .version(productVersion())
    .showHelpAfterError('(try --help)')
    .showSuggestionAfterError()
    // Their subcommands inherit it, as they inherit the rest of the above.
    .exitOverride();
  for (const add of COMMANDS) add(program);
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
}

/** 3: could not run. Commands set 1 and 2 themselves, for answers that are no failure of the command. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_FAILED;
  process.stderr.write(`treeline: ${visible(describe(error))}\n`);
  return EXIT_FAILED;
}

/** Only unexpected errors are printed with a stack trace. */
function describe(error: unknown): string {
  if (error instanceof CommandFailure) return error.message;
  return describeSystemError(error) ?? String(error instanceof Error ? error.stack : error);
}
