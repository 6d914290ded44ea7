// Writes docs/cli.md from the help of all commands: `npm run docs:cli`, after a change of a command. A test fails
// where the two differ.
import { writeFileSync } from 'node:fs';
import type { Argument, Command, Option } from 'commander';
import { createProgram } from '../src/cli/run.ts';

const WIDTH = 100;

const INTRO = `<!-- Written by "npm run docs:cli" from the help of the commands. Change a command's text, not this file. -->

# The command line

Run \`treeline <command>\`, or \`npm run -s treeline -- <command>\` in a clone. \`treeline <command> --help\` prints the same. Several
commands have these options:

| option | environment | is |
|---|---|---|
| connection: \`--server <url>\` | \`TREELINE_SERVER\` | the REST interface, such as \`https://treeline.example:8443\` |
| \`--cert <file>\`, \`--key <file>\` | \`TREELINE_CERT\`, \`TREELINE_KEY\` | the client's certificate and private key, PEM |
| \`--ca <file>\` | \`TREELINE_CA\` | the authority that signed the server's certificate, PEM |
| \`--reason <words>\` | | the reason; recorded with the operation |
| \`--format json\` | | prints data as JSON instead of text |
| \`-h\`, \`--help\` | | display help for command |

Exit code 0: the command succeeded; 3: it could not run, or the controller refused. \`serve\` and \`proxy\` end with 4 if another start may
succeed ([exit codes](install.md#exit-codes)). The help of a command lists its other exit codes.
`;

/** The options in the introduction, with their texts. A command lists such an option only if its text differs. */
const COMMON: ReadonlyMap<string, string> = new Map([
  ['--server <url>', 'the REST interface, such as https://treeline.example:8443'],
  ['--cert <file>', "the client's certificate, PEM"],
  ['--key <file>', "the client's private key, PEM"],
  ['--ca <file>', "the authority that signed the server's certificate, PEM"],
  ['--reason <words>', 'the reason; recorded with the operation'],
  ['--format <format>', 'how to print'],
  ['-h, --help', 'display help for command'],
]);

/** Their names in the table: one word for the four options of a connection. */
const OPTION_NAMES: ReadonlyMap<string, string> = new Map([
  ['--server', 'connection'],
  ['--reason', '`--reason`'],
  ['--format', '`--format`'],
]);

/** Links for commands that need more explanation than their help. */
const READ_ON: Readonly<Record<string, string>> = {
  approve: '[holds](concepts.md#holds)',
  'accept-history': '[holds](concepts.md#holds)',
  plan: '[pull requests](pull-requests.md)',
  provider: '[providers](providers.md)',
  proxy: '[proxies](concepts.md#proxies)',
  serve: '[install](install.md)',
  store: '[operate](operate.md#backup-and-restore)',
  validate: '[problems](problems.md), and pipelines in [contrib](../contrib/README.md)',
};

/** Returns docs/cli.md: a table of all commands, and the help of commands with further options. */
export async function renderCli(): Promise<string> {
  const commands = listCommands(await createProgram());
  const rows: string[] = [];
  const sections: string[] = [];
  for (const { name, command } of commands) {
    const common = commonOptions(command);
    const help = helpWithout(common, command);
    const usage = [name, ...command.registeredArguments.map(writtenArgument)].join(' ');
    const hasMore = help !== '';
    if (hasMore) sections.push(`## treeline ${name}\n\n\`\`\`\n${help}\n\`\`\``);
    const term = hasMore ? `[\`${usage}\`](#treeline-${name.replaceAll(' ', '-')})` : `\`${usage}\``;
    const more = READ_ON[name] === undefined ? '' : `; see ${READ_ON[name]}`;
    const options = common.flatMap(({ long }) => OPTION_NAMES.get(long ?? '') ?? []);
    rows.push(`| ${term} | ${command.description()}${more} | ${options.join(', ')} |`);
  }
  const table = ['| command | does | common options |', '|---|---|---|', ...rows].join('\n');
  return `${[INTRO, table, ...sections].join('\n\n').replace(/\n{3,}/g, '\n\n')}\n`;
}

/** Returns all executable commands, in the order of the help. A command that only groups others has no options. */
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

function writtenArgument(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function commonOptions(command: Command): readonly Option[] {
  const all = command.createHelp().visibleOptions(command);
  return all.filter(({ flags, description, argChoices = ['text', 'json'] }) => {
    return COMMON.get(flags) === description && argChoices.join() === 'text,json';
  });
}

/** Returns the help of a command without these options and without its usage and description, which the table has. */
function helpWithout(common: readonly Option[], command: Command): string {
  const own = command.createHelp().visibleOptions(command);
  let text = '';
  command.configureHelp({
    visibleOptions: () => own.filter((option) => !common.includes(option)),
    commandDescription: () => '',
    visibleCommands: () => [],
  });
  command.configureOutput({
    getOutHelpWidth: () => WIDTH,
    getOutHasColors: () => false,
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text
    .replace(/^Usage:.*\n*/, '')
    .replace(/\n{3,}/g, '\n\n')
    .trimEnd();
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/cli.md', import.meta.url), await renderCli());
}
