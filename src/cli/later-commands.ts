// Adds commands that the documents mention and this version does not have: each fails and names the alternative. See
// docs/decisions/0017-what-is-not-built-is-refused.md.
import type { Command } from 'commander';
import { CommandFailure } from './command-failure.ts';

const LATER: readonly (readonly [name: string, instead: string])[] = [
  ['plan', '"treeline validate" checks a directory, and "treeline held" shows the deletes that wait for a yes'],
];

/** Adds the commands, hidden. Exit code 3. */
export function addLaterCommands(program: Command): void {
  for (const [name, instead] of LATER) {
    program
      .command(name, { hidden: true })
      .allowUnknownOption()
      .allowExcessArguments()
      .action(() => {
        throw new CommandFailure(`${name} is not in this version of Treeline: ${instead}`);
      });
  }
}
