// `treeline explain`: prints all layers of a node's configuration, from a directory or from a running controller.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { TREE_FILE } from '../catalog/paths.ts';
import type { NodeExplanation } from '../model/explanation.ts';
import { SourceError } from '../repository/source.ts';
import { CommandFailure, expecting } from './command-failure.ts';
import { explainDirectory, type Subject } from './explain/explain-directory.ts';
import { textOfKey, textOfNode } from './explain/text-explanation.ts';
import { type Format, formatOption, printAs } from './output.ts';
import {
  addOptionalServerOptions,
  EMPTY_ARGUMENT,
  getFrom,
  type ServerOptions,
  serverIn,
} from './server-connection.ts';
import { fromUserDirectory } from './user-directory.ts';

interface Options extends Partial<ServerOptions> {
  readonly dir: string;
  readonly format: Format;
}

const HELP = `
Shows a key with all layers of the node, specific to general. * marks the layers
that decide.

With --server (or TREELINE_SERVER), or in the folder of a demo, the running
controller answers, unless --dir is given. To see what a commit changes for a
node: treeline plan --base REV --node NODE.

Exit code 0: explained, 3: could not run, also for an unknown node or key.

Examples:
  treeline explain web-1
  treeline explain web-1 log_level`;

/** Adds the command. Exit code 0: explained; 3: could not run, also for an unknown node or key. */
export function addExplainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description("show where each value of a node's record comes from")
    .argument('<node>', 'a server of a stack, or a hand-written clientcert')
    .argument('[key]', 'only this key')
    .option('--dir <directory>', 'the directory of the layout', '.')
    .addOption(formatOption())
    .addHelpText('after', HELP);
  addOptionalServerOptions(command).action(
    async (node: string, key: string | undefined, options: Options, called: Command) => {
      const subject = { node, key };
      if (node === '' || key === '') throw new CommandFailure(EMPTY_ARGUMENT);
      const isDirectory = called.getOptionValueSource('dir') === 'cli';
      // Two options on the command line conflict. A server from the environment is ignored.
      if (isDirectory && called.getOptionValueSource('server') === 'cli') {
        throw new CommandFailure('give --dir or --server, not both');
      }
      const explanation = await explained(subject, options, isDirectory);
      printAs(options.format, explanation, () =>
        key === undefined ? textOfNode(explanation) : textOfKey(key, explanation),
      );
    },
  );
}

async function explained(subject: Subject, options: Options, isDirectory: boolean): Promise<NodeExplanation> {
  const server = isDirectory || standsInLayout(options) ? undefined : await serverIn(options);
  if (server !== undefined) return (await getFrom(server, pathOf(subject))) as NodeExplanation;
  return await expecting([SourceError], () => explainDirectory(fromUserDirectory(options.dir), subject));
}

/** The layout in the user's directory has priority over a demo, but not over a named server. */
function standsInLayout({ dir, server }: Options): boolean {
  return server === undefined && existsSync(join(fromUserDirectory(dir), TREE_FILE));
}

function pathOf({ node, key }: Subject): string {
  const path = `/operations/explain/${encodeURIComponent(node)}`;
  return key === undefined ? path : `${path}/${encodeURIComponent(key)}`;
}
