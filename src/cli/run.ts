// Defines the command line and its commands. Each command has its own file.
import { Command, CommanderError } from 'commander';
import { productVersion } from '../base/product-files.ts';
import { visible } from '../base/wording.ts';
import { CommandFailure, describeSystemError, EXIT_FAILED } from './command-failure.ts';

/** Adds a command, or several, to the program. */
type Add = (program: Command) => void;

/**
 * The commands, in the order of the help. Each is loaded separately, because loading the controller takes longer than
 * most commands run.
 */
const COMMANDS: readonly (readonly [name: string, load: () => Promise<Add>])[] = [
  ['demo', async () => (await import('./demo-command.ts')).addDemoCommand],
  ['serve', async () => (await import('./serve-command.ts')).addServeCommand],
  ['validate', async () => (await import('./validate-command.ts')).addValidateCommand],
  ['plan', async () => (await import('./plan-command.ts')).addPlanCommand],
  ['explain', async () => (await import('./explain-command.ts')).addExplainCommand],
  ['import', async () => (await import('./import-command.ts')).addImportCommand],
  ['schemas', async () => (await import('./schemas-command.ts')).addSchemasCommand],
  ['status', async () => (await import('./status-command.ts')).addStatusCommand],
  // This module adds several commands.
  ['why', loadOperations],
  ['events', async () => (await import('./events-command.ts')).addEventsCommand],
  ['client', async () => (await import('./client-command.ts')).addClientCommand],
  ['pki', async () => (await import('./pki-command.ts')).addPkiCommand],
  ['provider', async () => (await import('./provider-command.ts')).addProviderCommand],
  ['store', async () => (await import('./store-command.ts')).addStoreCommand],
  [
    'completion',
    async () => {
      const { addCompletionCommand } = await import('./completion-command.ts');
      return (program) => addCompletionCommand(program, createProgram);
    },
  ],
  ['render', async () => (await import('./render-command.ts')).addRenderCommand],
  ['proxy', async () => (await import('./proxy-command.ts')).addProxyCommand],
];

/** Commands of other tools, with the equivalent here. */
const OF_OTHER_TOOLS: ReadonlyMap<string | undefined, string> = new Map([
  ['apply', 'commit and push: the controller follows the branch. To see the effect first: treeline plan'],
  ['destroy', 'take the file of the instance out of stacks/instances, commit and push'],
  ['diff', 'before a merge: treeline plan; where servers differ from what is wanted: treeline why INSTANCE'],
  ['get', 'all instances, or one with its servers: treeline status; the record of a server: treeline explain NODE'],
  ['history', 'what happened to an instance: treeline events INSTANCE; what was committed: git log'],
  ['logs', 'what happened to an instance: treeline events INSTANCE; the controller logs to its standard output'],
  ['refresh', 'to compare servers with what was applied: treeline check INSTANCE'],
  ['rollback', 'revert the commit and push: git revert COMMIT'],
  ['sync', 'the controller follows the branch. To wait for a commit: treeline status --wait COMMIT'],
  ['version', 'treeline --version'],
]);

/** Resolves with the called command; none for the version, all for the help or an unknown word. */
async function commandsFor(called: string | undefined): Promise<readonly Add[]> {
  if (called === '--version' || called === '-V') return [];
  const one = COMMANDS.find(([name]) => name === called);
  if (one !== undefined) return [await one[1]()];
  const operations = await loadOperations();
  const program = new Command();
  operations(program);
  if (program.commands.some((command) => command.name() === called)) return [operations];
  return Promise.all(COMMANDS.map(([, load]) => load()));
}

async function loadOperations(): Promise<Add> {
  const [{ addRestCommands }, { OPERATION_COMMANDS }] = await Promise.all([
    import('./rest-command.ts'),
    import('./operations.ts'),
  ]);
  return (program) => addRestCommands(program, OPERATION_COMMANDS);
}

/** Resolves with the program with the called command, or with all commands. */
export async function createProgram(called?: string): Promise<Command> {
  const instead = OF_OTHER_TOOLS.get(called);
  const program = new Command('treeline')
    .description('GitOps for servers outside Kubernetes')
    .version(productVersion())
    .showHelpAfterError(instead === undefined ? '(try --help)' : `(${instead})`)
    .showSuggestionAfterError(instead === undefined)
    // Subcommands inherit these settings.
    .exitOverride();
  for (const add of await commandsFor(called)) add(program);
  return program;
}

/** Runs the command that the arguments of the process name, and sets the exit code of the process. */
export async function run(): Promise<void> {
  const program = await createProgram(process.argv[2]);
  try {
    await program.parseAsync();
  } catch (error) {
    process.exitCode = exitCodeOf(error);
  }
}

/**
 * 3: could not run, 4: another start may succeed. Commands set 1 and 2 for results that are not failures of the
 * command.
 */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_FAILED;
  process.stderr.write(`treeline: ${visible(describe(error))}\n`);
  return error instanceof CommandFailure ? error.exitCode : EXIT_FAILED;
}

/** Only unexpected errors are printed with a stack trace. */
function describe(error: unknown): string {
  if (error instanceof CommandFailure) return error.message;
  return describeSystemError(error) ?? String(error instanceof Error ? error.stack : error);
}
