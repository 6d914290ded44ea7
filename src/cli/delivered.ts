// Reads and formats which nodes run an older record than the current one.
import type { Delivered, DeliveredNode } from '../service/answers.ts';
import { formatItem, visibleLine } from './output.ts';
import type { Given } from './rest-command.ts';
import { getFrom, type ServerOptions } from './server-connection.ts';
import { findCommit } from './short-ids.ts';

const PAGE = 500;
const ADVICE =
  'do: look at what applies the record of each of these nodes: its log, its certificate; to count a node no more, remove its client';

/** The requested commit and instance. */
interface Question {
  /** Full id; undefined: the current records. */
  readonly commit?: string | undefined;
  /** Undefined: all instances. */
  readonly instance?: string | undefined;
}

/** Resolves with the answer for `treeline delivered`. */
export async function askDelivered(given: Given, instance: string): Promise<Omit<Delivered, 'next'>> {
  const commit = given.commit === undefined ? undefined : await findCommit(given, given.commit);
  const states = given.all ? 'outdated,failed,delivered' : 'outdated,failed';
  const { next, ...answer } = await readDelivered(given, { commit, instance }, states);
  return answer;
}

/** Returns the lines of an answer. */
export function formatDelivered({ summary, counts, nodes }: Omit<Delivered, 'next'>): string {
  const isLate = counts.outdated + counts.failed > 0;
  return [summary, ...nodes.map(formatNode), ...(isLate ? [ADVICE] : [])].join('\n');
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

/** Returns the lines of a node. */
export function formatNode({ name, state, digest, confirmed }: DeliveredNode): string {
  const { outcome, time, message } = confirmed;
  const which = confirmed.digest === digest ? 'its current record' : 'an older record';
  const reason = `${outcome} of ${which} at ${time}${message && `: ${message}`}`;
  return formatItem({ title: `  ${visibleLine(name)}: ${state}`, reason });
}
