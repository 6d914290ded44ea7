// `treeline completion`: prints a script that completes commands and options in a shell, generated from the commands.
import { Argument, type Command } from 'commander';
import { print } from './output.ts';

/**
 * Adds the command. `createWhole` returns the program with all commands. Exit code 0: printed; 3: could not run.
 */
export function addCompletionCommand(program: Command, createWhole: () => Promise<Command>): void {
  program
    .command('completion')
    .description('print a script that completes commands and options')
    .addArgument(new Argument('<shell>', 'the shell of the script').choices(['bash', 'zsh']))
    .addHelpText(
      'after',
      '\nIn ~/.bashrc: eval "$(treeline completion bash)". In ~/.zshrc, after compinit: eval "$(treeline completion zsh)".',
    )
    .action(async (shell: 'bash' | 'zsh') => {
      const whole = await createWhole();
      print(shell === 'bash' ? bashScript(whole) : zshScript(whole));
    });
}

/** The words that may follow a command. */
interface Offer {
  /** The names of the command, each after a blank; empty for the program. */
  readonly path: string;
  readonly commands: readonly string[];
  readonly options: readonly string[];
}

function offersOf(command: Command, path = ''): readonly Offer[] {
  const options = command.options.flatMap(({ hidden, long }) => (hidden || long === undefined ? [] : [long]));
  const commands = command.commands.map((child) => child.name());
  return [
    { path, commands, options: [...options, '--help'] },
    ...command.commands.flatMap((child) => offersOf(child, `${path} ${child.name()}`)),
  ];
}

/**
 * Returns statements for both shells: they find the command among the words in `typed`, and set `offered` to the words
 * that may follow.
 */
function findingOf(offers: readonly Offer[]): string {
  const paths = offers.flatMap(({ path }) => (path === '' ? [] : [`'${path}'`]));
  const casesOf = (wordsOf: (offer: Offer) => readonly string[]): readonly string[] =>
    offers.flatMap((offer) => {
      const words = wordsOf(offer);
      return words.length === 0 ? [] : [`    '${offer.path}') offered='${words.join(' ')}' ;;`];
    });
  return [
    "  local at='' word offered=''",
    `  for word in "\${typed[@]}"; do`,
    `    case "$at $word" in ${paths.join('|')}) at="$at $word" ;; esac`,
    '  done',
    '  if [[ "$current" == -* ]]; then case "$at" in',
    ...casesOf(({ options }) => options),
    '  esac; else case "$at" in',
    ...casesOf(({ commands }) => commands),
    '  esac; fi',
  ].join('\n');
}

function bashScript(program: Command): string {
  return `# Completes treeline in bash: eval "$(treeline completion bash)"
_treeline() {
  local current="\${COMP_WORDS[COMP_CWORD]}" typed=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${findingOf(offersOf(program))}
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
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
  if [[ -z "$offered" ]]; then _files; return; fi
  compadd -- \${=offered}
}
if [[ "\${funcstack[1]-}" = _treeline ]]; then _treeline "$@"; else compdef _treeline treeline; fi`;
}
