// `treeline explain`: prints all layers of a node's configuration, in a directory or as a running controller has it, and
// what differs between two commits or after an approval.
import type { Command } from 'commander';
import type { NodeExplanation } from '../model/explanation.ts';
import type { ApprovalEffect } from '../service/explainer.ts';
import { CommandFailure } from './command-failure.ts';
import { desiredOf, explainIn, noHistory, unknownKey, unknownNode } from './explain/explain-directory.ts';
import { textOfDifference } from './explain/text-difference.ts';
import { textOfKey, textOfNode } from './explain/text-explanation.ts';
import { type Format, formatOption, printEscaped, printJson, visibleLine } from './output.ts';
import { addOptionalServerOptions, getFrom, requireServer, type ServerOptions, serverIn } from './server-connection.ts';
import { deriveDirectory, fromUserDirectory } from './user-directory.ts';

interface Options extends Partial<ServerOptions> {
  readonly dir: string;
  readonly format: Format;
  readonly approval?: string;
}

/** The node and the key that are explained. */
interface Subject {
  readonly node: string;
  readonly key: string | undefined;
}

const HELP = `
A key is explained with all layers of the node, specific to general: * marks those whose value is in the record.

With --server (or TREELINE_SERVER), a running controller is asked, unless --dir says otherwise.

Exit code 0: explained, 3: could not run, also for an unknown node or key.`;

/** Adds the command. Exit code 0: explained; 3: could not run, also for an unknown node or key. */
export function addExplainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description("show all layers of a node's record: what each says, where it is written, and what wins")
    .argument('<node>', 'a server of a stack, or a hand-written clientcert')
    .argument('[key]', 'only this key')
    .option('--dir <directory>', 'where the layout begins', '.')
    .option('--approval <digest>', 'show what would change if this were approved; see treeline held')
    .addOption(formatOption())
    .addHelpText('after', HELP);
  addOptionalServerOptions(command).action(
    async (node: string, key: string | undefined, options: Options, called: Command) => {
      const subject = { node, key };
      const isDirectory = called.getOptionValueSource('dir') === 'cli';
      if (options.approval !== undefined) await showApproval(subject, options.approval, options);
      else showExplanation(subject, await explained(subject, options, isDirectory), options.format);
    },
  );
}

async function explained(subject: Subject, options: Options, isDirectory: boolean): Promise<NodeExplanation> {
  const server = isDirectory ? undefined : serverIn(options);
  if (server !== undefined) return (await getFrom(server, pathOf(subject))) as NodeExplanation;
  return await explainDirectory(subject, options);
}

async function explainDirectory({ node, key }: Subject, { dir }: Options): Promise<NodeExplanation> {
  const directory = fromUserDirectory(dir);
  const title = 'the directory';
  const state = { desired: desiredOf(await deriveDirectory(directory), title), title, history: noHistory };
  const explanation = await explainIn(state, node, key);
  if (explanation === undefined) throw unknownNode(state, node);
  if (key !== undefined && Object.keys(explanation.keys).length === 0) throw await unknownKey(state, node, key);
  return explanation;
}

function showExplanation({ key }: Subject, explanation: NodeExplanation, format: Format): void {
  if (format === 'json') printJson(explanation);
  else printEscaped(key === undefined ? textOfNode(explanation) : textOfKey(key, explanation));
}

async function showApproval(subject: Subject, digest: string, options: Options): Promise<void> {
  if (digest === '') throw new CommandFailure('--approval is empty: "treeline held" shows the digests');
  const path = `${pathOf(subject)}?approval=${encodeURIComponent(digest)}`;
  const effect = (await getFrom(await requireServer(options), path)) as ApprovalEffect;
  if (options.format === 'json') {
    printJson(effect);
    return;
  }
  const { kind, instance, reason } = effect.held;
  const titles = { from: 'the active version', to: 'the version after the approval', key: subject.key };
  printEscaped(visibleLine(`held: ${kind}${instance === null ? '' : ` of ${instance}`}, ${reason}`));
  printEscaped(textOfDifference(effect, titles));
}

function pathOf({ node, key }: Subject): string {
  const path = `/operations/explain/${encodeURIComponent(node)}`;
  return key === undefined ? path : `${path}/${encodeURIComponent(key)}`;
}
