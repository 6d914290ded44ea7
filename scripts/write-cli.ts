// Writes docs/cli.md from the help of all commands: `npm run docs:cli`, after a change of a command. A test fails where the
// two differ.
import { writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { createProgram } from '../src/cli/run.ts';

const WIDTH = 100;

const INTRO = `<!-- Written by "npm run docs:cli" from the help of the commands. Change a command's text, not this file. -->

# The command line

\`npm run -s treeline -- <command>\` in a clone, \`treeline <command>\` where the package is installed. \`treeline <command> --help\`
prints the same, with the options that are described only here:

| option | environment | is |
|---|---|---|
| \`--server <url>\` | \`TREELINE_SERVER\` | the REST interface, such as \`https://treeline.example:8443\` |
| \`--cert <file>\`, \`--key <file>\` | \`TREELINE_CERT\`, \`TREELINE_KEY\` | the client's certificate and private key, PEM |
| \`--ca <file>\` | \`TREELINE_CA\` | the authority that signed the server's certificate, PEM |
| \`--reason <words>\` | | why; kept with the operation |
| \`-h\`, \`--help\` | | display help for command |

Exit code 0: the command succeeded; 3: it could not run, or the controller refused. The help of a command lists its other exit codes.
Commands that print data have \`--format json\`.

\`\`\`
$ treeline held
shop-production: deletes, since 2026-11-23T18:51:43.823Z
    over all instances, 6 servers would be deleted or replaced without approval, and 0 were within the last hour; the limit is 5
    servers: prod-web-1, prod-web-3, prod-web-4, shop-production-reports, shop-production-worker-01, shop-production-worker-02
    release with: treeline approve 5667c9b4eec8b3bb1aec7987eb7e82627ac3f538ccfeb69b093e8704a77b64da
\`\`\`
`;

/** The options that the introduction describes, with their texts: those of a command that differ in one are listed with it. */
const COMMON: ReadonlyMap<string, string> = new Map([
  ['--server <url>', 'the REST interface, such as https://treeline.example:8443'],
  ['--cert <file>', "the client's certificate, PEM"],
  ['--key <file>', "the client's private key, PEM"],
  ['--ca <file>', "the authority that signed the server's certificate, PEM"],
  ['--reason <words>', 'why; kept with the operation'],
  ['-h, --help', 'display help for command'],
]);

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
  const sections = commands.map(({ name, command }) => `## treeline ${name}\n\n\`\`\`\n${helpText(command)}\n\`\`\``);
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

/** Returns the help of a command; of the common options, a line names those that it has. */
function helpText(command: Command): string {
  const help = command.createHelp();
  const all = help.visibleOptions(command);
  const common = all.filter(({ flags, description }) => COMMON.get(flags) === description);
  command.configureHelp({ visibleOptions: () => all.filter((option) => !common.includes(option)) });
  const named = common.flatMap(({ flags, long }) => (flags === '-h, --help' ? [] : [long]));
  const text = writtenHelp(command).trimEnd();
  return named.length === 0 ? text : `${text}\n\nCommon options: ${named.join(', ')}`;
}

function writtenHelp(command: Command): string {
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
