// Writes docs/cli.md from the help of all commands: `npm run docs:cli`, after a change of a command. A test fails where the
// two differ.
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { createProgram } from '../src/cli/run.ts';

const WIDTH = 100;

const INTRO = `<!-- Written by "npm run docs:cli" from the help of the commands. Change a command's text, not this file. -->

# The command line

\`npm run -s treeline -- <command>\` in a clone, \`treeline <command>\` where the package is installed. \`treeline <command> --help\`
prints what stands here.

Exit code 0 means that a command did what it was asked for, 3 that it could not run or that the controller refused. Where a command
has other exit codes, its help says so. Commands that print data have \`--format json\`.

Commands for a running controller need to know where it is and who asks: \`--server\`, \`--cert\`, \`--key\` and \`--ca\`, or the variables
\`TREELINE_SERVER\`, \`TREELINE_CERT\`, \`TREELINE_KEY\` and \`TREELINE_CA\`.
`;

/** Where a command needs more than its help to be understood. */
const READ_ON: Readonly<Record<string, string>> = {
  approve: '[holds](concepts.md#holds)',
  'accept-history': '[holds](concepts.md#holds)',
  plan: '[pull requests](pull-requests.md)',
  provider: '[providers](providers.md)',
  proxy: '[proxies](concepts.md#proxies)',
  serve: '[operations](operations.md)',
  store: '[operations](operations.md)',
  validate: '[problems](problems.md), and pipelines in [contrib](../contrib/README.md)',
};

/** Returns docs/cli.md. */
export async function renderCli(): Promise<string> {
  const program = await createProgram();
  const commands = listCommands(program);
  const rows = commands.map(({ name, command }) => {
    const more = READ_ON[name] === undefined ? '' : `; see ${READ_ON[name]}`;
    return `| [\`${name}\`](#treeline-${name.replaceAll(' ', '-')}) | ${command.description()}${more} |`;
  });
  const table = ['| command | does |', '|---|---|', ...rows].join('\n');
  const sections = commands.map(
    ({ name, command }) => `## treeline ${name}\n\n\`\`\`\n${helpText(command).trimEnd()}\n\`\`\``,
  );
  return `${[INTRO, table, ...sections].join('\n\n').replace(/\n{3,}/g, '\n\n')}\n`;
}

/** Returns all commands that do something, in the order of the help. One that only groups others has no options. */
export function listCommands(
  parent: Command,
  prefix = '',
): readonly { readonly name: string; readonly command: Command }[] {
  return parent.commands.flatMap((command) => {
    const name = `${prefix}${command.name()}`;
    const below = listCommands(command, `${name} `);
    return below.length > 0 && command.options.length === 0 ? below : [{ name, command }, ...below];
  });
}

function helpText(command: Command): string {
  let text = '';
  command.configureOutput({
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/cli.md', import.meta.url), await renderCli());
}
