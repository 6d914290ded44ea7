// `treeline delivered`: prints which nodes run an older record than the present one.
import type { Command } from 'commander';
import type { Delivered, DeliveredNode } from '../service/answers.ts';
import { type Format, formatItem, formatOption, printAs, visibleLine } from './output.ts';
import { addServerOptions, getFrom, type ServerOptions } from './server-connection.ts';
import { findCommit } from './short-ids.ts';

const PAGE = 500;
const ADVICE =
  'do: look at what applies the record of each of these nodes: its log, its certificate; to count a node no more, remove its client';

interface Options extends ServerOptions {
  readonly format: Format;
  readonly commit?: string;
  readonly all?: true;
}

/** What is asked for. */
interface Question {
  /** Full id; undefined: the present records. */
  readonly commit?: string | undefined;
  /** Undefined: all instances. */
  readonly instance?: string | undefined;
}

/** Adds the command. Exit code 0: printed; 3: could not run. */
export function addDeliveredCommand(program: Command): void {
  const command = program
    .command('delivered')
    .description('show which nodes run an older record')
    .argument('[instance]', 'only its nodes')
    .option('--commit <commit>', 'the record of this commit or a later one')
    .option('--all', 'show also the nodes that run it')
    .addOption(formatOption());
  addServerOptions(command).action(async (instance: string | undefined, options: Options) => {
    const commit = options.commit === undefined ? undefined : await findCommit(options, options.commit);
    const states = options.all ? 'outdated,failed,delivered' : 'outdated,failed';
    const { next, ...answer } = await readDelivered(options, { commit, instance }, states);
    const isLate = answer.counts.outdated + answer.counts.failed > 0;
    const nodes = answer.nodes.length === 0 ? [] : [listNodes(answer.nodes)];
    const lines = [answer.summary, ...nodes, ...(isLate ? [ADVICE] : [])];
    printAs(options.format, answer, () => lines.join('\n'));
  });
}

/** Reads all pages as one. */
export async function readDelivered(
  server: ServerOptions,
  { commit, instance }: Question,
  states: string,
): Promise<Delivered> {
  const query = new URLSearchParams({ state: states, limit: String(PAGE) });
  if (commit !== undefined) query.set('commit', commit);
  if (instance !== undefined) query.set('instance', instance);
  const nodes: DeliveredNode[] = [];
  for (;;) {
    const page = (await getFrom(server, `/operations/delivered?${query}`)) as Delivered;
    nodes.push(...page.nodes);
    if (page.next === null) return { ...page, nodes };
    query.set('after', page.next);
  }
}

/** Returns the lines of nodes. */
export function listNodes(nodes: readonly DeliveredNode[]): string {
  return nodes.map(formatNode).join('\n');
}

function formatNode({ name, state, digest, confirmed }: DeliveredNode): string {
  const { outcome, time, message } = confirmed;
  const which = confirmed.digest === digest ? 'its present record' : 'an older record';
  const reason = `${outcome} of ${which} at ${time}${message && `: ${message}`}`;
  return formatItem({ title: `  ${visibleLine(name)}: ${state}`, reason });
}
