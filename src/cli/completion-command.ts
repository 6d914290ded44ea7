// `treeline completion`: prints what completes the command line in a shell, made from the commands themselves.
import { Argument, type Command, InvalidArgumentError } from 'commander';
import type { Overview } from '../service/answers.ts';
import { print, visibleLine } from './output.ts';
import { addOptionalServerOptions, getFrom, requireServer, type ServerOptions } from './server-connection.ts';

const SHELLS = ['bash', 'zsh', 'instances'] as const;
type Shell = (typeof SHELLS)[number];

/** Adds the command. `createWhole` returns the program with all its commands. Exit code 0: printed; 3: could not run. */
export function addCompletionCommand(program: Command, createWhole: () => Promise<Command>): void {
  const command = program
    .command('completion')
    .description('print a script that completes commands, options and instances in a shell')
    .addArgument(
      new Argument('<shell>', 'whose script; instances: the names that the scripts ask for')
        .choices(SHELLS)
        .argParser(readShell),
    )
    .addHelpText(
      'after',
      '\nIn ~/.bashrc: eval "$(treeline completion bash)". In ~/.zshrc, after compinit: eval "$(treeline completion zsh)".' +
        '\nInstances are completed if TREELINE_SERVER is set, and in the folder of a demo.',
    );
  addOptionalServerOptions(command).action(async (shell: Shell, options: Partial<ServerOptions>) => {
    if (shell === 'instances') {
      const { instances } = (await getFrom(await requireServer(options), '/operations/status')) as Overview;
      for (const { name } of instances) print(visibleLine(name));
    } else {
      print(shell === 'bash' ? bashScript(await createWhole()) : zshScript(await createWhole()));
    }
  });
}

function readShell(text: string): Shell {
  const shell = SHELLS.find((each) => each === text);
  if (shell === undefined) throw new InvalidArgumentError('The supported shells are bash and zsh.');
  return shell;
}

/** What may stand behind a command. */
interface Offer {
  /** The names of the command, each after a blank; empty for the program. */
  readonly path: string;
  readonly words: readonly string[];
  readonly takesInstance: boolean;
  /** The values of options that take one, by flag; none are known where the list is empty. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

function offersOf(command: Command, path = ''): readonly Offer[] {
  const options = command.options.filter(({ hidden }) => !hidden);
  const flagsOf = ({ short, long }: (typeof options)[number]): string[] => [short, long].flatMap((flag) => flag ?? []);
  const taking = options.filter(({ required, optional }) => required || optional);
  const own: Offer = {
    path,
    words: [
      ...command.commands.map((child) => child.name()),
      ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
      ...options.flatMap(({ long }) => long ?? []),
      '--help',
    ],
    takesInstance: command.registeredArguments.some((argument) => argument.name() === 'instance'),
    values: new Map(taking.flatMap((option) => flagsOf(option).map((flag) => [flag, option.argChoices ?? []]))),
  };
  return [own, ...command.commands.flatMap((child) => offersOf(child, `${path} ${child.name()}`))];
}

/** Returns statements of both shells: of the words in `typed` they find the command, and what may come next, in `offered`. */
function findingOf(offers: readonly Offer[]): string {
  const inQuotes = (texts: readonly string[]): string => texts.map((text) => `'${text}'`).join('|');
  const values = offers.flatMap(({ path, values }) =>
    [...values].map(([flag, words]) => ({ at: `${path} ${flag}`, words })),
  );
  const free = values.filter(({ words }) => words.length === 0).map(({ at }) => at);
  const lines = [
    "  local at='' last='' word offered='' names=''",
    `  for word in "\${typed[@]}"; do`,
    '    last="$word"',
    '    case "$at $word" in',
    `      ${inQuotes(offers.map(({ path }) => path).filter((path) => path !== ''))}) at="$at $word" ;;`,
    '    esac',
    '  done',
    '  case "$at $last" in',
    ...values
      .filter(({ words }) => words.length > 0)
      .map(({ at, words }) => `    '${at}') offered='${words.join(' ')}' ;;`),
    `    ${inQuotes(free)}) ;;`,
    '    *) case "$at" in',
    ...offers.map(({ path, words }) => `      '${path}') offered='${words.join(' ')}' ;;`),
    '      esac',
    `      case "$at" in ${inQuotes(offers.filter(({ takesInstance }) => takesInstance).map(({ path }) => path))}) names=yes ;; esac ;;`,
    '  esac',
    `  if [[ -n "$names" && "$current" != -* && ( -n "\${TREELINE_SERVER-}" || -d .treeline ) ]]; then`,
    '    names="$(treeline completion instances 2>/dev/null)"',
    '  else',
    "    names=''",
    '  fi',
  ];
  return lines.join('\n');
}

/** Names come from a repository: they are compared, and never given to the shell to expand. */
function bashScript(program: Command): string {
  return `# Completes treeline in bash: eval "$(treeline completion bash)"
_treeline() {
  local current="\${COMP_WORDS[COMP_CWORD]}" typed=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${findingOf(offersOf(program))}
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
  while IFS= read -r word; do
    if [[ -n "$word" && "$word" == "$current"* ]]; then COMPREPLY+=("$word"); fi
  done <<< "$names"
}
complete -o default -F _treeline treeline`;
}

function zshScript(program: Command): string {
  return `#compdef treeline
# Completes treeline in zsh: eval "$(treeline completion zsh)"
_treeline() {
  local current="\${words[CURRENT]}"
  local -a typed
  typed=("\${(@)words[2,CURRENT-1]}")
${findingOf(offersOf(program))}
  if [[ -z "$offered$names" ]]; then _files; return; fi
  compadd -- \${=offered} \${(f)names}
}
if [[ "\${funcstack[1]-}" = _treeline ]]; then _treeline "$@"; else compdef _treeline treeline; fi`;
}
