#!/usr/bin/env node
// The command line: which commands there are. What each does is in a file of its own below cli/.
import { Command, CommanderError } from 'commander';
import { addClientCommand } from './cli/client-command.ts';
import { CommandFailure, EXIT_FAILED } from './cli/command-failure.ts';
import { addDemoCommand } from './cli/demo-command.ts';
import { addExplainCommand } from './cli/explain-command.ts';
import { addOperationCommands } from './cli/operation-commands.ts';
import { productVersion } from './cli/product-files.ts';
import { addSchemasCommand } from './cli/schemas-command.ts';
import { addServeCommand } from './cli/serve-command.ts';
import { addStatusCommand } from './cli/status-command.ts';
import { addStoreCommand } from './cli/store-command.ts';
import { addValidateCommand } from './cli/validate-command.ts';

const program = new Command('treeline')
  .description('A GitOps controller for infrastructure stacks: follows a Git repository, drives every server to done.')
  .version(productVersion())
  .showHelpAfterError('(try --help)')
  .showSuggestionAfterError()
  // Their subcommands inherit it, as they inherit the rest of the above.
  .exitOverride();
for (const add of [
  addDemoCommand,
  addServeCommand,
  addValidateCommand,
  addExplainCommand,
  addSchemasCommand,
  addStatusCommand,
  addClientCommand,
  addOperationCommands,
  addStoreCommand,
])
  add(program);

// A reader that has seen enough (`| head`) closes the pipe; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOf(error);
}

/** 3: could not run. Commands set 1 and 2 themselves, for answers that are no failure of the command. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_FAILED;
  const text = error instanceof CommandFailure ? error.message : String(error instanceof Error ? error.stack : error);
  process.stderr.write(`treeline: ${text}\n`);
  return EXIT_FAILED;
}
