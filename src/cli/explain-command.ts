// `treeline explain`: prints all layers of a node's configuration, in a directory or as a running controller has it, and
// what differs between two commits or after an approval.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { TREE_FILE } from '../catalog/paths.ts';
import { compareExplanations } from '../hiera/explain-node.ts';
import type { NodeExplanation } from '../model/explanation.ts';
import { SourceError } from '../repository/source.ts';
import type { ApprovalEffect } from '../service/explain/explainer.ts';
import { CommandFailure, expecting } from './command-failure.ts';
import {
  explainIn,
  missingKey,
  missingNode,
  openStates,
  refuseWrongInstance,
  type States,
  type Subject,
} from './explain/explain-directory.ts';
import { textOfDifference, textOfKey, textOfNode } from './explain/text-explanation.ts';
import { type Format, formatOption, printAs, visibleLine } from './output.ts';
import {
  addOptionalServerOptions,
  EMPTY_ARGUMENT,
  getFrom,
  requireServer,
  type ServerOptions,
  serverIn,
} from './server-connection.ts';
import { fromUserDirectory } from './user-directory.ts';

interface Options extends Partial<ServerOptions> {
  readonly dir: string;
  readonly format: Format;
  readonly diff?: string;
  readonly approval?: string;
}

const HELP = `
A key is shown with all layers of the node, specific to general: * marks those
that decide.

With --server (or TREELINE_SERVER), or in the folder of a demo, the running
controller answers, unless --dir or --diff is given.

Exit code 0: explained, 3: could not run, also for an unknown node or key.

Examples:
  treeline explain web-1 log_level
  treeline explain web-1 --diff origin/main
  treeline explain web-1 --diff v1..v2`;

/** Adds the command. Exit code 0: explained; 3: could not run, also for an unknown node or key. */
export function addExplainCommand(program: Command): void {
  const command = program
    .command('explain')
    .description("show all layers of a node's record: what each says, where it is written, and what wins")
    .argument('<node>', 'a server of a stack, or a hand-written clientcert')
    .argument('[key]', 'only this key')
    .option('--dir <directory>', 'where the layout begins', '.')
    .option(
      '--diff <revisions>',
      'show what differs between a revision and the directory, or between two: REV, REV..REV',
    )
    .option('--approval <digest>', 'show what would change if this were approved; see treeline held')
    .addOption(formatOption())
    .addHelpText('after', HELP);
  addOptionalServerOptions(command).action(
    async (node: string, key: string | undefined, options: Options, called: Command) => {
      const subject = { node, key };
      if (node === '' || key === '') throw new CommandFailure(EMPTY_ARGUMENT);
      const isDirectory = called.getOptionValueSource('dir') === 'cli';
      checkOptions(options, { isDirectory, isServer: called.getOptionValueSource('server') === 'cli' });
      if (options.approval !== undefined) await showApproval(subject, options.approval, options);
      else if (options.diff !== undefined) await showDifference(subject, options.diff, options);
      else showExplanation(subject, await explained(subject, options, isDirectory), options.format);
    },
  );
}

/** Options that are given contradict each other; one that comes from the environment gives way. */
function checkOptions(
  { diff, approval }: Options,
  given: { readonly isDirectory: boolean; readonly isServer: boolean },
): void {
  if (diff !== undefined && approval !== undefined) throw new CommandFailure('give --diff or --approval, not both');
  if (diff !== undefined && given.isServer) {
    throw new CommandFailure('--diff compares commits of a directory: leave out --server, or use --approval');
  }
  if (approval !== undefined && given.isDirectory) {
    throw new CommandFailure('--approval asks a running controller: leave out --dir');
  }
  if (given.isDirectory && given.isServer) throw new CommandFailure('give --dir or --server, not both');
  if (approval === '') throw new CommandFailure('--approval is empty: "treeline held" shows the digests');
}

async function explained(subject: Subject, options: Options, isDirectory: boolean): Promise<NodeExplanation> {
  const server = isDirectory || standsInLayout(options) ? undefined : await serverIn(options);
  if (server !== undefined) return (await getFrom(server, pathOf(subject))) as NodeExplanation;
  return await withStates(options, async (states) => {
    const state = await states.directory();
    const explanation = await explainIn(state, subject);
    if (explanation === undefined) throw missingNode(state, subject);
    if (isUnset(subject, [explanation])) throw await missingKey(state, subject);
    return explanation;
  });
}

/** A demo does not hide the layout in which the user stands; a server that is named does. */
function standsInLayout({ dir, server }: Options): boolean {
  return server === undefined && existsSync(join(fromUserDirectory(dir), TREE_FILE));
}

async function withStates<Value>({ dir }: Options, work: (states: States) => Promise<Value>): Promise<Value> {
  return await expecting([SourceError], async () => {
    const states = await openStates(fromUserDirectory(dir));
    try {
      return await work(states);
    } finally {
      states.close();
    }
  });
}

function isUnset({ key }: Subject, explanations: readonly (NodeExplanation | undefined)[]): boolean {
  return key !== undefined && explanations.every((one) => Object.keys(one?.keys ?? {}).length === 0);
}

function showExplanation({ key }: Subject, explanation: NodeExplanation, format: Format): void {
  printAs(format, explanation, () => (key === undefined ? textOfNode(explanation) : textOfKey(key, explanation)));
}

/** Without a second revision, the directory is the second side. */
async function showDifference(subject: Subject, revisions: string, options: Options): Promise<void> {
  const [first = '', second, third] = revisions.split('..');
  if (third !== undefined || second?.startsWith('.') === true || revisions === '') {
    throw new CommandFailure(`--diff takes a revision, or two as REV..REV, not "${revisions}"`);
  }
  const { difference, titles } = await withStates(options, async (states) => {
    const from = await states.revision(first === '' ? 'HEAD' : first);
    const to =
      second === undefined
        ? await states.directory(from.desired)
        : await states.revision(second === '' ? 'HEAD' : second, from.desired);
    const hierarchies = [from, to].map(({ desired }) => desired.catalog.hierarchy.object);
    const sides = { from: await explainIn(from, subject), to: await explainIn(to, subject), hierarchies };
    if (sides.from === undefined && sides.to === undefined) throw missingNode(to, subject);
    // A node whose instance is wrong on one side stays as it is there: it is not removed.
    if (sides.from === undefined) refuseWrongInstance(from, subject.node, sides.to?.stackInstance);
    if (sides.to === undefined) refuseWrongInstance(to, subject.node, sides.from?.stackInstance);
    if (isUnset(subject, [sides.from, sides.to])) throw await missingKey(sides.to === undefined ? from : to, subject);
    return { difference: compareExplanations(subject.node, sides), titles: { from: from.title, to: to.title } };
  });
  printAs(options.format, difference, () => textOfDifference(difference, { ...titles, key: subject.key }));
}

async function showApproval(subject: Subject, digest: string, options: Options): Promise<void> {
  const path = `${pathOf(subject)}?approval=${encodeURIComponent(digest)}`;
  const effect = (await getFrom(await requireServer(options), path)) as ApprovalEffect;
  const { kind, instance, reason } = effect.held;
  const titles = { from: 'the active version', to: 'the version after the approval', key: subject.key };
  const held = visibleLine(`held: ${kind}${instance === null ? '' : ` of ${instance}`}, ${reason}`);
  printAs(options.format, effect, () => `${held}\n${textOfDifference(effect, titles)}`);
}

function pathOf({ node, key }: Subject): string {
  const path = `/operations/explain/${encodeURIComponent(node)}`;
  return key === undefined ? path : `${path}/${encodeURIComponent(key)}`;
}
