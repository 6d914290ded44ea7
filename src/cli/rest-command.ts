// Runs commands that send one request to the REST interface, and prints the answer.
import type { Command, Option } from 'commander';
import { type Format, formatOption, print, printAs } from './output.ts';
import { addServerOptions, type ServerOptions } from './server-connection.ts';

/** The options of these commands, parsed by commander. */
export type Given = ServerOptions & {
  readonly format: Format;
  readonly reason?: string;
  readonly resource?: string;
  readonly provider?: string;
  readonly all?: true;
  readonly until?: string;
  readonly end?: true;
  readonly recovery?: string;
  readonly force?: true;
  readonly ignoreOrder?: true;
  readonly commit?: string;
  readonly role?: string;
};

/** A row of a table of commands. */
export interface RestCommand {
  /** The name and the argument, in commander's notation. */
  readonly usage: string;
  readonly description: string;
  readonly options?: Readonly<Record<string, string>>;
  /** An option with choices. */
  readonly choice?: Option;
  readonly help?: string;
  /** Returns the answer of the controller. An optional argument may be undefined. */
  readonly ask: (given: Given, argument: string, name: string) => Promise<unknown>;
  /** Formats the answer; default: its message. `--format json` prints the whole answer. */
  readonly text?: (answer: never, argument: string) => string;
}

/** Adds the commands of a table. Exit code 0: done; 3: could not run, or the controller refused. */
export function addRestCommands(program: Command, rows: readonly RestCommand[]): void {
  for (const { usage, description, options = {}, choice, help, ask, text } of rows) {
    const command = program.command(usage).description(description);
    for (const [flags, words] of Object.entries(options)) command.option(flags, words);
    if (choice !== undefined) command.addOption(choice);
    if (help !== undefined) command.addHelpText('after', `\n${help}`);
    if (text !== undefined) command.addOption(formatOption());
    addServerOptions(command).action(async () => {
      const given = command.opts<Given>();
      const [argument = undefined as never] = command.args;
      const answer = await ask(given, argument, command.name());
      if (text === undefined) print((answer as { readonly message: string }).message);
      else printAs(given.format, answer, () => text(answer as never, argument));
    });
  }
}
